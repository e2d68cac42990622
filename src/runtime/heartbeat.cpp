#include "runtime/heartbeat.h"

#include <condition_variable>
#include <fmt/format.h>
#include <mutex>

namespace pawl::runtime {

Heartbeat::Heartbeat(
    store::Backend& backend, WorkerId worker, Duration interval, LeaseTable& leases, Obey obey
)
    : backend_(backend),
      worker_(worker),
      interval_(interval),
      leases_(leases),
      obey_(std::move(obey)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Heartbeat::~Heartbeat() {
    stop();
}

void Heartbeat::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void Heartbeat::work(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex);
            stopped.wait_for(lock, stop, interval_, [] { return false; });
        }
        if (stop.stop_requested()) return;
        try {
            beat();
        } catch (const std::exception& error) {
            backend_.log().warning(fmt::format("no heartbeat, the next follows: {}", error.what()));
        }
        leases_.expire(LeaseTable::Clock::now());
    }
}

void Heartbeat::beat() {
    const auto extensions = leases_.extensions();
    const auto asked_at = LeaseTable::Clock::now();
    const auto result = backend_.heartbeat(worker_, extensions);
    leases_.extended(extensions, result.outcomes, asked_at);
    obey_(result.status);
}

}  // namespace pawl::runtime
