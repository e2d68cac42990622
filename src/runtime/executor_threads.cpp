// The threads of the executor: how many there are, and which are woken.
#include <algorithm>
#include <fmt/format.h>

#include "runtime/executor.h"

namespace pawl::runtime {

namespace {

constexpr Duration stalled_after = 5ms;
// More than that per thread and interval means that they are short.
constexpr std::size_t short_calls = 100;
constexpr int slow_checks = 4;  // consecutive; a single one may only have lacked a processor

std::size_t processors() {
    return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

// The mutex is held.
void Executor::wake_threads(std::size_t work) {
    const std::size_t idle = threads_.size() - busy_threads_;
    for (std::size_t i = 0; i < std::min(work, idle); ++i) work_.notify_one();
    // Idle threads may already be notified for other work and not be awake yet.
    while (threads_.size() - busy_threads_ < waiting_work() && threads_.size() < first_threads_) {
        if (!add_thread()) break;
    }
    wake_stall_watch();
}

// The mutex is held.
void Executor::wake_stall_watch() {
    if (!stall_watch_asleep_ || busy_threads_ < threads_.size() || !has_work()) return;
    stall_watch_asleep_ = false;
    stalled_.notify_one();
}

// Returns false if the system cannot start more threads; the existing ones do the work.
bool Executor::add_thread() {
    try {
        threads_.emplace_back([this] { work(); });
        return true;
    } catch (const std::system_error& error) {
        if (threads_.empty()) throw;
        if (!std::exchange(short_of_threads_, true))
            backend_.log().warning(
                fmt::format("cannot start more than {} threads: {}", threads_.size(), error.what())
            );
        return false;
    }
}

std::size_t Executor::waiting_work() const {
    const auto concurrency = static_cast<std::size_t>(options_.concurrency);
    if (stopping_) return ready_.size();
    const std::size_t startable =
        holds_ > 0 ? 0 : concurrency - std::min(concurrency, running_count_);
    return ready_.size() + alone_.size() + std::min(queued_.size(), startable);
}

bool Executor::has_work() const {
    return waiting_work() > 0;
}

std::size_t Executor::running() {
    const std::lock_guard lock(mutex_);
    return running_count_;
}

bool Executor::is_idle() const {
    return queued_.empty() && alone_.empty() && running_count_ == 0;
}

Executor::StartsHeld::StartsHeld(Executor& executor) : executor_(executor) {
    const std::lock_guard lock(executor_.mutex_);
    ++executor_.holds_;
}

Executor::StartsHeld::~StartsHeld() {
    const std::lock_guard lock(executor_.mutex_);
    if (--executor_.holds_ == 0) executor_.wake_threads(executor_.queued_.size());
}

void Executor::push_alone(std::shared_ptr<Call> call) {
    const std::lock_guard lock(mutex_);
    alone_.push_back(std::move(call));
    wake_threads(1);
    // All threads may be in handlers that never return.
    if (threads_.size() - busy_threads_ < waiting_work()) add_thread();
}

// The mutex is held.
Executor::Clock::time_point Executor::last_start() const {
    auto last = Clock::time_point{};
    for (const auto& call : running_) {
        if (!call || call->lost || call->reported) continue;
        last = std::max(last, call->running_since);
    }
    return last;
}

bool Executor::wait_to_start(const StartAt& start_at, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++waiting_for_a_call_;
    while (!stop.stop_requested()) {
        const auto until = start_at(last_start());
        if (until <= Clock::now()) break;
        changed_.wait_until(lock, stop, until, [&, before = finished_] {
            return finished_ != before;
        });
    }
    --waiting_for_a_call_;
    return !stop.stop_requested();
}

bool Executor::wait_until_ended(
    const Call& call, Clock::time_point deadline, const std::stop_token& stop
) {
    std::unique_lock lock(mutex_);
    ++waiting_for_a_call_;
    const bool ended = changed_.wait_until(lock, stop, deadline, [&] { return call.ended; });
    --waiting_for_a_call_;
    return ended;
}

// Long handlers keep their threads, and other calls must not wait for them. If handlers return, but
// slowly, there is one thread per processor.
void Executor::add_threads_when_stalled(const std::stop_token& stop) {
    const auto concurrency = static_cast<std::size_t>(options_.concurrency);
    int slow = 0;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        stall_watch_asleep_ = true;
        wake_stall_watch();
        stalled_.wait(lock, stop, [&] { return !stall_watch_asleep_; });
        const std::uint64_t before = taken_;
        stalled_.wait_for(lock, stop, stalled_after, [] { return false; });
        if (stop.stop_requested()) return;
        const bool behind = busy_threads_ == threads_.size() && has_work();
        slow = behind && taken_ - before < short_calls * threads_.size() ? slow + 1 : 0;
        std::size_t wanted = 0;
        if (behind && taken_ == before) {
            const std::size_t allowed = concurrency - std::min(concurrency, threads_.size());
            wanted = std::min({waiting_work(), threads_.size(), allowed});
        } else if (slow >= slow_checks && threads_.size() < std::min(concurrency, processors())) {
            wanted = 1;
            slow = 0;
        }
        while (wanted-- > 0 && add_thread()) {
        }
    }
}

}  // namespace pawl::runtime
