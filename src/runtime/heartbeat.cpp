#include "runtime/heartbeat.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::runtime {

namespace {
constexpr int beats_per_lease = 3;
}

Heartbeat::Heartbeat(
    store::Backend& backend, WorkerId worker, Duration interval, LeaseTable& leases, Hooks hooks
)
    : backend_(backend),
      worker_(worker),
      interval_(interval),
      leases_(leases),
      hooks_(std::move(hooks)),
      thread_([this](const std::stop_token& stop) { work(stop); }),
      expiry_([&leases](const std::stop_token& stop) { leases.expire_in_time(stop); }) {
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
    expiry_.request_stop();
    if (expiry_.joinable()) expiry_.join();
}

void Heartbeat::beat_now() {
    {
        const std::lock_guard lock(mutex_);
        wanted_ = true;
    }
    changed_.notify_one();
}

void Heartbeat::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        wait_for_next(stop);
        if (stop.stop_requested()) return;
        try {
            hooks_.before();
            beat();
        } catch (const std::exception& error) {
            backend_.log().warning(fmt::format("no heartbeat, the next follows: {}", error.what()));
        }
    }
}

void Heartbeat::wait_for_next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {
        sooner_ = false;
        const Duration lease = leases_.shortest(interval_ * beats_per_lease);
        const auto interval = std::clamp<Duration>(lease / beats_per_lease, 1ms, interval_);
        changed_.wait_until(lock, stop, last_ + interval, [&] { return wanted_ || sooner_; });
    } while (sooner_ && !wanted_ && !stop.stop_requested());
    wanted_ = false;
    last_ = LeaseTable::Clock::now();
}

void Heartbeat::beat() {
    const auto asked_at = LeaseTable::Clock::now();
    const auto extensions = leases_.extensions(asked_at);
    const auto result = backend_.heartbeat(worker_, extensions);
    leases_.extended(extensions, result.outcomes, asked_at);
    hooks_.obey(result.status);
}

}  // namespace pawl::runtime
