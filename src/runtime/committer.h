// Group commit: every durable write of a process goes through here. What has gathered goes out as
// one batch, as soon as the previous commit has returned: no delay when idle, large batches under
// load.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/backend.h"

namespace pawl::runtime {

class Committer {
public:
    // Called once, on the committer's thread, when every write of the submission has its final
    // outcome (never busy). Must not block.
    using Settled =
        std::function<void(std::span<const store::Write>, std::span<const store::WriteOutcome>)>;

    explicit Committer(store::Backend& backend);
    ~Committer();  // stop() with no time left
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Waits while too much is pending: a database that cannot follow slows the handlers down.
    void submit(std::vector<store::Write> writes, Settled settled);
    // Returns when all that was submitted before is settled, or at the deadline: false.
    bool flush(std::chrono::steady_clock::time_point deadline);
    void stop();  // idempotent; what is pending then is dropped: leases end by themselves

private:
    struct Submission {
        std::vector<store::Write> writes;
        std::vector<store::WriteOutcome> outcomes;
        std::size_t open = 0;
        Settled settled;
    };
    struct Item {
        std::shared_ptr<Submission> submission;
        std::size_t index = 0;
    };

    void work(const std::stop_token& stop);
    std::vector<Item> take(const std::stop_token& stop);
    std::vector<store::WriteOutcome> commit(
        std::span<const store::Write> writes, const std::stop_token& stop
    );
    void distribute(std::vector<Item> items, std::vector<store::WriteOutcome> outcomes);
    void pause(Duration time, const std::stop_token& stop);

    store::Backend& backend_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Item> pending_;
    std::size_t in_flight_ = 0;
    std::atomic<bool> only_busy_left_ = false;
    std::jthread thread_;
};

}  // namespace pawl::runtime
