#include "runtime/executor.h"

#include <algorithm>
#include <fmt/format.h>

#include "runtime/metrics/metered_report.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr double fetch_ahead_seconds = 0.05;
constexpr int max_fetch_ahead = 1'000;
constexpr Duration measure_every = 10ms;
constexpr Duration forget_after = 100ms;

// With short steps most work is done by the database, which for SQLite runs in this process: one
// thread per processor would only compete with it.
std::size_t few_threads() {
    return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

Executor::Executor(
    const WorkerOptions& options,
    Committer& committer,
    LeaseTable& leases,
    seam::Engine& backend,
    ServiceTimer& timer,
    WorkerMeters* meters
)
    : options_(options),
      committer_(committer),
      leases_(leases),
      backend_(backend),
      meters_(meters),
      watchdog_(timer),
      runners_{
          MessageRunner(options),
          RunRunner(committer, backend, watchdog_),
          TaskRunner(options.name, committer, backend, watchdog_)},
      shared_(options.share_threads && base::Fiber::supported()),
      first_threads_(std::min<std::size_t>(
          shared_ ? few_threads() : ~0U, static_cast<std::size_t>(options.concurrency)
      )) {
    if (!shared_) return;
    committer.set_resume([this](std::vector<std::unique_ptr<base::Fiber>> fibers) {
        resume(std::move(fibers));
    });
    stall_watch_ =
        std::jthread([this](const std::stop_token& stop) { add_threads_when_stalled(stop); });
}

Executor::~Executor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    stall_watch_ = {};  // no more threads are added
    for (auto& thread : threads_) thread.join();
}

void Executor::push(std::vector<std::shared_ptr<Call>> work) {
    const std::lock_guard lock(mutex_);
    for (auto& call : work) queued_.push_back(std::move(call));
    wake_threads(work.size());
}

// Called by the committer when the outcomes that these fibers wait for are known.
void Executor::resume(std::vector<std::unique_ptr<base::Fiber>> fibers) {
    const std::lock_guard lock(mutex_);
    for (auto& fiber : fibers) ready_.push_back(std::move(fiber));
    wake_threads(fibers.size());
}

int Executor::room() {
    const auto now = Clock::now();
    if (now - measured_at_ >= measure_every) {
        const std::chrono::duration<double> passed = now - measured_at_;
        const double rate = static_cast<double>(finished_ - finished_before_) / passed.count();
        // An old rate means nothing.
        calls_per_second_ =
            now - measured_at_ >= forget_after ? rate : (calls_per_second_ + rate) / 2;
        finished_before_ = finished_;
        measured_at_ = now;
    }
    const int ahead =
        static_cast<int>(std::min<double>(calls_per_second_ * fetch_ahead_seconds, max_fetch_ahead)
        );
    const int capacity = options_.concurrency + ahead;
    const int free = capacity - static_cast<int>(queued_.size() + alone_.size() + running_count_);
    // With fast handlers, few large claims are cheaper than many small ones.
    return free * 2 > ahead ? free : 0;
}

// The mutex is held. Called when unstarted calls are handed back: they were fetched too far ahead
// and must not be fetched again before other calls have ended.
void Executor::forget_rate() {
    calls_per_second_ = 0;
    finished_before_ = finished_;
    measured_at_ = Clock::now();
}

int Executor::wait_for_room(const std::stop_token& stop, Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    int free = 0;
    ++waiting_for_room_;
    changed_.wait_until(lock, stop, deadline, [&] { return (free = room()) > 0; });
    --waiting_for_room_;
    return stop.stop_requested() ? 0 : free;
}

bool Executor::wait_until_idle(Clock::time_point deadline, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++waiting_for_end_;
    const bool idle = changed_.wait_until(lock, stop, deadline, [&] { return is_idle(); });
    --waiting_for_end_;
    return idle;
}

// The mutex is held. Thousands of calls end per second, so waiters are woken only if their
// condition holds.
void Executor::notify_waiting() {
    const bool room_found = waiting_for_room_ > 0 && room() > 0;
    const bool end_found = waiting_for_end_ > 0 && is_idle();
    if (room_found || end_found || waiting_for_a_call_ > 0) changed_.notify_all();
}

std::vector<std::shared_ptr<Call>> Executor::take_unstarted(Clock::time_point stale_by) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Call>> taken;
    std::deque<std::shared_ptr<Call>> kept;
    for (auto& call : queued_) {
        if (call->stale_at <= stale_by) {
            taken.push_back(std::move(call));
        } else {
            kept.push_back(std::move(call));
        }
    }
    queued_ = std::move(kept);
    if (stale_by == Clock::time_point::max()) {
        taken.insert(taken.end(), alone_.begin(), alone_.end());
        alone_.clear();
    }
    if (!taken.empty()) forget_rate();
    notify_waiting();
    return taken;
}

std::vector<std::string> Executor::describe_running() {
    auto lines = watchdog_.describe();
    const std::lock_guard lock(mutex_);
    for (const auto& call : running_) {
        if (call && !call->has_steps())
            lines.push_back(fmt::format(
                "{}, running for {}",
                call->subject(),
                in_seconds(Clock::now() - call->running_since)
            ));
    }
    return lines;
}

std::vector<std::shared_ptr<Call>> Executor::abandon() {
    std::vector<std::shared_ptr<Call>> running;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& call : running_) {
            if (call) running.push_back(call);
        }
    }
    for (const auto& call : running) {
        call->abandoned = true;
        call->lost = true;  // later reports are fenced off
        call->stop.request_stop();
    }
    return running;
}

void Executor::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        if (shared_ && !has_work()) committer_.send_gathered();
        work_.wait(lock, [&] { return has_work() || (stopping_ && running_count_ == 0); });
        if (!has_work()) return;
        ++busy_threads_;
        ++taken_;
        if (!ready_.empty()) {
            auto fiber = std::move(ready_.front());
            ready_.pop_front();
            wake_stall_watch();
            lock.unlock();
            base::Fiber::resume(std::move(fiber));
        } else {
            auto& next = alone_.empty() ? queued_ : alone_;
            const std::shared_ptr<Call> call = std::move(next.front());
            next.pop_front();
            const std::size_t slot = take_slot(call);
            wake_stall_watch();
            lock.unlock();
            start(call, slot);
        }
        lock.lock();
        --busy_threads_;
    }
}

// The mutex is held.
std::size_t Executor::take_slot(const std::shared_ptr<Call>& call) {
    ++running_count_;
    call->running_since = Clock::now();
    if (meters_ != nullptr) meters_->executing = static_cast<int>(running_count_);
    if (free_slots_.empty()) {
        running_.push_back(call);
        return running_.size() - 1;
    }
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    running_[slot] = call;
    return slot;
}

void Executor::start(const std::shared_ptr<Call>& call, std::size_t slot) {
    if (!shared_ || !call->has_steps()) {
        run(call);
        return ended(slot);
    }
    base::Fiber::resume(std::make_unique<base::Fiber>(stacks_, [this, call, slot] {
        run(call);
        ended(slot);
    }));
}

void Executor::ended(std::size_t slot) {
    const std::lock_guard lock(mutex_);
    running_[slot]->ended = true;
    running_[slot].reset();
    free_slots_.push_back(slot);
    --running_count_;
    if (meters_ != nullptr) meters_->executing = static_cast<int>(running_count_);
    ++finished_;
    notify_waiting();
    if (stopping_ && running_count_ == 0) work_.notify_all();
}

void Executor::run(const std::shared_ptr<Call>& call) {
    if (call->meters() != nullptr) call->started_at_steady = Clock::now();
    if (leases_.assign(call) > 0) {
        auto writes = call->execute();
        if (writes && !call->dropped) return report(call, std::move(*writes));
    }
    // The leases were lost to another worker.
    meter_lost(*call);
    leases_.forget(call->messages());
}

// The committer outlives the executor, so the callback must not use the executor.
void Executor::report(const std::shared_ptr<Call>& call, std::vector<Write> writes) {
    const MeteredReport metered(*call);
    Committer::Callback then = [&leases = leases_, &committer = committer_, call, metered](
                                   std::span<const Write> written,
                                   std::span<const WriteOutcome> outcomes
                               ) {
        leases.forget(written);
        metered.committed(written, outcomes);
        for (std::size_t i = 0; i < written.size(); ++i) {
            if (has_failed_run(written[i], outcomes[i]))
                call->log().run_failed(call->subject(), written[i].as<seam::Finish>());
            if (outcomes[i].status != WriteStatus::rejected) continue;
            auto instead = call->after_rejection(written[i], outcomes[i].error);
            call->log().write(
                LogLevel::error,
                fmt::format(
                    "the database rejected the result of {}, which {}: {}",
                    call->subject(),
                    instead ? "fails" : "will be delivered again after its lease",
                    outcomes[i].error
                )
            );
            if (instead)
                committer.submit({std::move(*instead)}, [metered](auto failed, auto results) {
                    metered.committed(failed, results);
                });
        }
    };
    if (is_idle_but_for_this()) {
        committer_.submit_idle(std::move(writes), std::move(then));
    } else {
        committer_.submit(std::move(writes), std::move(then));
    }
}

// Only for plain threads: a fiber's thread has other fibers to resume.
bool Executor::is_idle_but_for_this() {
    if (base::Fiber::current() != nullptr) return false;
    const std::lock_guard lock(mutex_);
    return queued_.empty() && alone_.empty() && running_count_ == 1;
}

}  // namespace pawl::runtime
