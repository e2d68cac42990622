// Group commit: every durable write of a worker goes through here. Pending writes are sent as one
// batch as soon as a lane is free: no delay when idle, large batches under load. Fibers gather
// their writes first, so that a thread that resumes 100 of them sends one batch. If the store
// supports two concurrent commits, one lane wakes the waiters of its batch while the other commits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "base/one_shot_event.h"
#include "seam/engine.h"

namespace pawl::runtime {

struct WorkerMeters;

class Committer {
public:
    // Called once, on a committer's thread, when every write of the submission has its final
    // outcome (never busy). Must not block. If the committer stops first, the outcome is
    // lease_lost: the write may or may not have happened, and is not repeated.
    using Callback =
        std::function<void(std::span<const seam::Write>, std::span<const seam::WriteOutcome>)>;

    explicit Committer(seam::Engine& backend, WorkerMeters* meters = nullptr);
    ~Committer();  // stop() without a grace period
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Waits while too much is pending: back pressure for the handlers.
    void submit(std::vector<seam::Write> writes, Callback then);
    // The same without waiting. For the watchdog, which must not block and submits only a few
    // writes per executing call.
    void submit_unbounded(std::vector<seam::Write> writes, Callback then);
    // Like submit(), for a thread that has nothing else to do: if nothing else is being committed,
    // a single write is committed on this thread, which then calls `then`.
    void submit_idle(std::vector<seam::Write> writes, Callback then);
    // Waits for the outcome of one write. A fiber leaves its thread while it waits (park) or keeps
    // it (block).
    enum class Wait { park, block };
    [[nodiscard]] seam::WriteOutcome commit_one(const seam::Write& write, Wait wait);
    // Resumes parked fibers whose outcome is known. Set before the first fiber parks.
    using Resume = std::function<void(std::vector<std::unique_ptr<base::Fiber>>)>;
    void set_resume(Resume resume) { resume_ = std::move(resume); }
    // Sends the writes that fibers have gathered. They wait up to 1 ms for those of the other
    // fibers that their thread resumes; the thread calls this when it has resumed all of them.
    void send_gathered();
    // Returns true when everything submitted before is committed, false at the deadline.
    bool flush(std::chrono::steady_clock::time_point deadline);
    void stop();  // idempotent; drops pending writes, whose leases expire

private:
    // The writes of one caller, shared by the items that refer to it. Those of submit() are stored
    // here; a waiter keeps its own and waits until they have their outcome.
    struct Submission {
        std::vector<seam::Write> stored;
        std::span<const seam::Write> writes;
        std::vector<seam::WriteOutcome> outcomes;
        std::atomic<std::size_t> open = 0;   // writes without outcome; lanes may split a submission
        Callback then;                       // empty for a waiter
        std::unique_ptr<base::Fiber> fiber;  // set if the waiter is a parked fiber
        base::OneShotEvent committed;        // a waiting thread waits for this
        std::shared_ptr<Submission> next;    // the waiter that this one wakes, see wake()
        bool has_waiter = false;
    };
    struct Item {
        std::shared_ptr<Submission> submission;
        std::size_t index = 0;
        std::size_t bytes = 0;  // size of the write
        [[nodiscard]] const seam::Write& write() const { return submission->writes[index]; }
    };
    using Items = std::vector<Item>;

    void work(const std::stop_token& stop);
    Items take(const std::stop_token& stop);
    std::vector<seam::WriteOutcome> commit(seam::Writes writes, const std::stop_token& stop);
    std::vector<seam::WriteOutcome> commit_measured(seam::Writes writes, seam::Attempt attempt);
    [[nodiscard]] std::optional<seam::WriteOutcome> commit_here(const seam::Write& write);
    [[nodiscard]] static Items items_of(const std::shared_ptr<Submission>& submission);
    enum class Send { now, gathered, unbounded };
    void submit(std::vector<seam::Write> writes, Callback then, Send when);
    void send(Items items, Send when);
    [[nodiscard]] bool enqueue(Items& items, Send when);
    void give_up(Items items);
    void distribute(Items items, std::vector<seam::WriteOutcome> outcomes);
    // Returns the items that are busy.
    Items deliver(Items items, std::span<seam::WriteOutcome> outcomes);
    static void wake(std::span<const std::shared_ptr<Submission>> waiters);
    void pause(Duration time, const std::stop_token& stop);
    // Ends early if another write arrives.
    void pause_while_busy(Duration time, const std::stop_token& stop);

    seam::Engine& backend_;
    WorkerMeters* const meters_;  // null unless metrics are enabled
    Resume resume_;
    std::mutex mutex_;
    std::condition_variable_any work_;   // writes are pending
    std::condition_variable_any room_;   // fewer writes are pending
    std::condition_variable_any pause_;  // ends a pause while rows are busy
    std::deque<Item> pending_;
    std::size_t in_flight_ = 0;
    std::size_t waiting_for_room_ = 0;
    bool due_ = false;  // pending writes are sent as soon as a lane is free
    std::atomic<bool> only_busy_left_ = false;
    std::stop_source stop_;
    std::vector<std::jthread> lanes_;
};

}  // namespace pawl::runtime
