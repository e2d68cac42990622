#include "runtime/services/heartbeat.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace pawl::runtime {

using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {
constexpr int beats_per_lease = 3;
constexpr Duration repeat_failed = 1s;
// Limits the checks: under load every commit of another process may request one.
constexpr Duration between_checks = 100ms;
constexpr Duration repeat_busy_first = 5ms;
constexpr Duration repeat_busy_last = 20ms;

// The difference between a clock that continues while the machine sleeps and one that does not.
std::chrono::nanoseconds between_clocks() {
    return std::chrono::system_clock::now().time_since_epoch() -
           LeaseTable::Clock::now().time_since_epoch();
}
}  // namespace

Heartbeat::Heartbeat(
    seam::Engine& backend,
    const std::atomic<WorkerId>& worker,
    Duration interval,
    LeaseTable& leases,
    Hooks hooks
)
    : backend_(backend),
      worker_(worker),
      interval_(interval),
      outage_(backend.outage()),
      leases_(leases),
      hooks_(std::move(hooks)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {
    leases_.on_shorter([this] {
        {
            const std::lock_guard lock(mutex_);
            sooner_ = true;
        }
        changed_.notify_one();
    });
}

Heartbeat::~Heartbeat() {
    leases_.on_shorter({});
    stop();
}

void Heartbeat::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void Heartbeat::beat_now() {
    {
        const std::lock_guard lock(mutex_);
        wanted_ = true;
    }
    changed_.notify_one();
}

void Heartbeat::check_now() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(check_, true)) return;
    }
    changed_.notify_one();
}

void Heartbeat::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto before = between_clocks();
        wait_for_next(stop);
        if (stop.stop_requested()) return;
        if (between_clocks() - before > interval_) hooks_.missed();
        try {
            hooks_.before();
            beat(stop);
            outage_.succeeded();
            failed_ = false;
        } catch (const std::exception& error) {
            failed_ = true;
            hooks_.missed();
            if (!outage_.failed(error))
                backend_.log().warning(fmt::format("heartbeat failed, retrying: {}", error.what()));
        }
    }
}

Duration Heartbeat::until_next() {
    const Duration lease = leases_.shortest(interval_ * beats_per_lease);
    const auto interval = std::clamp<Duration>(lease / beats_per_lease, 1ms, interval_);
    return failed_ ? std::min<Duration>(interval, repeat_failed) : interval;
}

// If the check fails, the heartbeat is sent and reports the error.
bool Heartbeat::has_news() {
    try {
        return hooks_.has_news();
    } catch (const std::exception&) {
        return true;
    }
}

void Heartbeat::wait_for_next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wanted_ && !stop.stop_requested()) {
        sooner_ = false;
        const auto due = last_ + until_next();
        const bool check = check_;
        changed_.wait_until(lock, stop, check ? std::min(due, next_check_) : due, [&] {
            return wanted_ || sooner_ || (check_ && !check);
        });
        const auto now = LeaseTable::Clock::now();
        if (now >= due) break;
        if (wanted_ || !check_ || now < next_check_) continue;
        check_ = false;
        next_check_ = now + between_checks;
        lock.unlock();
        const bool news = has_news();
        lock.lock();
        if (news) break;
    }
    wanted_ = false;
    last_ = LeaseTable::Clock::now();
}

void Heartbeat::beat(const std::stop_token& stop) {
    const auto asked_at = LeaseTable::Clock::now();
    auto extensions = leases_.extensions();
    const WorkerId worker = worker_;
    auto result = backend_.heartbeat(worker, extensions);
    leases_.extended(extensions, result.outcomes, asked_at);
    if (!result.known) return hooks_.unknown(worker, "its row is gone");
    if (result.beats > 0) {
        // The count only grows, unless the store was restored to an older state.
        if (worker == counted_ && result.beats <= beats_) restored_ = worker;
        counted_ = worker;
        beats_ = result.beats;
        // Repeated until the worker has registered again, and has another id.
        if (worker == restored_) return hooks_.unknown(worker, "store restored");
    }
    if (result.status) hooks_.apply_status(*result.status);
    repeat_busy(std::move(extensions), std::move(result.outcomes), stop);
}

// Retries busy leases: a run that records many steps has its row locked most of the time, so its
// lease would expire if each heartbeat tried only once.
void Heartbeat::repeat_busy(
    std::vector<Write> extensions, std::vector<WriteOutcome> outcomes, const std::stop_token& stop
) {
    Duration shortest = interval_ * beats_per_lease;
    for (const Write& extension : extensions)
        shortest = std::min(shortest, extension.as<seam::Extend>().lease);
    const auto until = LeaseTable::Clock::now() + shortest / 4;
    for (Duration wait = repeat_busy_first;; wait = std::min(wait * 2, repeat_busy_last)) {
        std::vector<Write> busy;
        for (std::size_t i = 0; i < extensions.size(); ++i) {
            if (outcomes[i].status == WriteStatus::busy && !leases_.lost(extensions[i].lease))
                busy.push_back(std::move(extensions[i]));
        }
        extensions = std::move(busy);
        if (extensions.empty() || LeaseTable::Clock::now() + wait > until) return;
        {
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, stop, wait, [&] { return wanted_; })) return;
        }
        if (stop.stop_requested()) return;
        const auto asked_at = LeaseTable::Clock::now();
        outcomes = backend_.heartbeat({}, extensions).outcomes;
        leases_.extended(extensions, outcomes, asked_at);
    }
}

}  // namespace pawl::runtime
