#include "runtime/executor.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"
#include "model/backoff.h"
#include "model/check.h"
#include "model/run_error.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/task/task_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::settle_write;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr double fetch_ahead_seconds = 0.05;
constexpr int max_fetch_ahead = 1'000;
constexpr Duration measure_every = 10ms;
constexpr Duration forget_after = 100ms;

// Where steps are short the database has most of the work, and with SQLite it has it in here: a
// thread for each processor would only take turns with it.
std::size_t few_threads() {
    return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

Executor::Executor(
    const WorkerOptions& options,
    Committer& committer,
    LeaseTable& leases,
    seam::Engine& backend,
    WorkerMeters* meters
)
    : options_(options),
      committer_(committer),
      leases_(leases),
      backend_(backend),
      meters_(meters),
      runs_(committer, backend, watchdog_),
      tasks_(options.name, committer, backend, watchdog_),
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
    stall_watch_ = {};  // nobody adds threads any more
    for (auto& thread : threads_) thread.join();
}

void Executor::push(std::vector<std::shared_ptr<Executing>> work) {
    const std::lock_guard lock(mutex_);
    for (auto& executing : work) queued_.push_back(std::move(executing));
    call_threads(work.size());
}

// Of the committer: what these have waited for is there.
void Executor::resume(std::vector<std::unique_ptr<base::Fiber>> fibers) {
    const std::lock_guard lock(mutex_);
    for (auto& fiber : fibers) ready_.push_back(std::move(fiber));
    call_threads(fibers.size());
}

int Executor::room() {
    const auto now = Clock::now();
    if (now - measured_at_ >= measure_every) {
        const std::chrono::duration<double> passed = now - measured_at_;
        const double rate = static_cast<double>(finished_ - finished_before_) / passed.count();
        // What was long ago says nothing.
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
    // Where handlers are fast, few large claims beat many small ones.
    return free * 2 > ahead ? free : 0;
}

// The mutex is held. What goes back unstarted was fetched too far ahead, and must not be fetched
// again before others have ended.
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

// The mutex is held. Thousands of calls end in a second: nobody is woken who would find nothing.
void Executor::tell_waiting() {
    const bool room_found = waiting_for_room_ > 0 && room() > 0;
    const bool end_found = waiting_for_end_ > 0 && is_idle();
    if (room_found || end_found || waiting_for_a_call_ > 0) changed_.notify_all();
}

std::vector<std::shared_ptr<Executing>> Executor::take_unstarted(Clock::time_point stale_by) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Executing>> taken;
    std::deque<std::shared_ptr<Executing>> kept;
    for (auto& executing : queued_) {
        if (executing->stale_at <= stale_by) {
            taken.push_back(std::move(executing));
        } else {
            kept.push_back(std::move(executing));
        }
    }
    queued_ = std::move(kept);
    if (stale_by == Clock::time_point::max()) {
        taken.insert(taken.end(), alone_.begin(), alone_.end());
        alone_.clear();
    }
    if (!taken.empty()) forget_rate();
    tell_waiting();
    return taken;
}

std::vector<std::string> Executor::describe_running() {
    auto lines = watchdog_.describe();
    const std::lock_guard lock(mutex_);
    for (const auto& executing : running_) {
        if (executing && !executing->run)
            lines.push_back(fmt::format(
                "{}, running for {}",
                subject_of(*executing),
                in_seconds(Clock::now() - executing->running_since)
            ));
    }
    return lines;
}

std::vector<std::shared_ptr<Executing>> Executor::abandon() {
    std::vector<std::shared_ptr<Executing>> running;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& executing : running_) {
            if (executing) running.push_back(executing);
        }
    }
    for (const auto& executing : running) {
        executing->abandoned = true;
        executing->lost = true;  // whatever it still reports comes too late
        executing->stop.request_stop();
    }
    return running;
}

void Executor::work() {
    if (shared_) Committer::gather_here();
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
            look_for_stall();
            lock.unlock();
            base::Fiber::resume(std::move(fiber));
        } else {
            auto& next = alone_.empty() ? queued_ : alone_;
            const std::shared_ptr<Executing> executing = std::move(next.front());
            next.pop_front();
            const std::size_t slot = take_slot(executing);
            look_for_stall();
            lock.unlock();
            start(executing, slot);
        }
        lock.lock();
        --busy_threads_;
    }
}

// The mutex is held.
std::size_t Executor::take_slot(const std::shared_ptr<Executing>& executing) {
    ++running_count_;
    executing->running_since = Clock::now();
    if (meters_ != nullptr) meters_->executing = static_cast<int>(running_count_);
    if (free_slots_.empty()) {
        running_.push_back(executing);
        return running_.size() - 1;
    }
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    running_[slot] = executing;
    return slot;
}

void Executor::start(const std::shared_ptr<Executing>& executing, std::size_t slot) {
    if (!shared_ || !executing->run) {
        run(executing);
        return ended(slot);
    }
    base::Fiber::resume(std::make_unique<base::Fiber>(stacks_, [this, executing, slot] {
        run(executing);
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
    tell_waiting();
    if (stopping_ && running_count_ == 0) work_.notify_all();
}

void Executor::run(const std::shared_ptr<Executing>& executing) {
    if (executing->meters != nullptr) executing->started_at_steady = Clock::now();
    if (leases_.assign(executing) > 0) {
        auto writes = execute(*executing);
        if (writes && !executing->dropped) return settle(executing, std::move(*writes));
    }
    // Somebody else has them. Forgetting them is all that is left to do.
    meter_lost(*executing);
    std::vector<Write> forgotten;
    for (const Message& message : executing->messages)
        forgotten.push_back(settle_write(WriteKind::hand_back, message.lease()));
    leases_.forget(forgotten);
}

// None: it is not ours any more.
std::optional<std::vector<Write>> Executor::execute(Executing& executing) {
    if (!executing.run && !executing.task) return report(executing);
    auto last = executing.run ? runs_.run(executing) : tasks_.run(executing);
    if (!last) return std::nullopt;
    std::vector<Write> writes;
    writes.push_back(std::move(*last));
    return writes;
}

// The committer outlives the executor: its callback may not lean on us.
void Executor::settle(const std::shared_ptr<Executing>& executing, std::vector<Write> writes) {
    const MeteredReport metered(*executing);
    Committer::Settled then = [&leases = leases_, &committer = committer_, executing, metered](
                                  std::span<const Write> settled,
                                  std::span<const WriteOutcome> outcomes
                              ) {
        leases.forget(settled);
        metered.settled(settled, outcomes);
        for (std::size_t i = 0; i < settled.size(); ++i) {
            if (has_failed_run(settled[i], outcomes[i]))
                executing->log->run_failed(subject_of(*executing), settled[i]);
            if (outcomes[i].status != WriteStatus::rejected) continue;
            auto instead = after_rejection(*executing, settled[i], outcomes[i].error);
            executing->log->write(
                LogLevel::error,
                fmt::format(
                    "the database refused the result of {}, it {}: {}",
                    subject_of(*executing),
                    instead ? "fails" : "is delivered again after its lease",
                    outcomes[i].error
                )
            );
            if (instead)
                committer.submit({std::move(*instead)}, [metered](auto written, auto became) {
                    metered.settled(written, became);
                });
        }
    };
    if (is_idle_but_for_this()) {
        committer_.submit_idle(std::move(writes), std::move(then));
    } else {
        committer_.submit(std::move(writes), std::move(then));
    }
}

// A fiber's thread is never free for a commit.
bool Executor::is_idle_but_for_this() {
    if (base::Fiber::current() != nullptr) return false;
    const std::lock_guard lock(mutex_);
    return queued_.empty() && alone_.empty() && running_count_ == 1;
}

std::vector<Write> Executor::report(Executing& executing) {
    executing.decisions.resize(executing.messages.size());
    try {
        HandlerContext context(executing);
        const CallMeter call(executing);
        executing.spec->handler(context);
    } catch (...) {
        return failure(executing, std::current_exception());
    }
    std::vector<Write> writes;
    writes.reserve(executing.messages.size());
    for (std::size_t i = 0; i < executing.messages.size(); ++i) {
        if (auto& decision = executing.decisions[i]) {
            if (decision->kind == WriteKind::fail) {
                decision->delay = backoff(executing.messages[i]);
                log_failure(executing, *decision);
            }
            writes.push_back(std::move(*decision));
        } else {
            writes.push_back(settle_write(WriteKind::archive, executing.messages[i].lease()));
        }
    }
    return writes;
}

std::vector<Write> Executor::failure(const Executing& executing, const std::exception_ptr& thrown) {
    const model::Thrown why = model::describe(thrown);
    const bool permanent = why.kind == model::Thrown::Kind::permanent;
    std::string reason = model::storable_text(
        permanent ? fmt::format("{}: {}", why.type, why.message) : why.message
    );
    std::vector<Write> writes;
    for (const Message& message : executing.messages) {
        writes.push_back(settle_write(
            permanent ? WriteKind::bury : WriteKind::fail,
            message.lease(),
            std::max(why.delay.value_or(backoff(message)), Duration::zero()),
            reason
        ));
    }
    log_failure(executing, writes.front());
    return writes;
}

void Executor::log_failure(const Executing& executing, const Write& write) {
    const auto message = std::ranges::find(executing.messages, write.lease, &Message::lease);
    const int limit = executing.log->max_attempts_of(executing.spec->queue);
    WorkLog::Attempt attempt{message->attempts + 1, limit, {}};
    const bool last = write.kind == WriteKind::bury || (limit > 0 && attempt.number >= limit);
    if (!last) attempt.retry_in = write.delay;
    executing.log->failed(subject_of(executing), attempt, write.reason);
}

Duration Executor::backoff(const Message& message) const {
    return model::backoff(
        message.attempts, options_.backoff_base, options_.backoff_cap, base::random_fraction()
    );
}

}  // namespace pawl::runtime
