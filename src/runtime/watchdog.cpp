#include "runtime/watchdog.h"

#include "runtime/run_context.h"

namespace pawl::runtime {

namespace {
constexpr Duration look_every = 100ms;
}

Watchdog::Watchdog() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

Watchdog::~Watchdog() {
    thread_.request_stop();
    thread_.join();
}

Watchdog::Attention::Attention(Watchdog& watchdog, RunContext& run)
    : watchdog_(watchdog), run_(run) {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.runs_.insert(&run);
    if (watchdog_.asleep_) watchdog_.changed_.notify_one();
    watchdog_.asleep_ = false;
}

Watchdog::Attention::~Attention() {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.runs_.erase(&run_);
}

void Watchdog::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (runs_.empty()) {
            asleep_ = true;
            changed_.wait(lock, stop, [&] { return !asleep_; });
        }
        changed_.wait_for(lock, stop, look_every, [] { return false; });
        const auto now = RunContext::Clock::now();
        for (RunContext* run : runs_) run->attend(now);
    }
}

}  // namespace pawl::runtime
