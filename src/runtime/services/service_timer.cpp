#include "runtime/services/service_timer.h"

#include <algorithm>
#include <fmt/format.h>

#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {
constexpr auto longest_sleep = std::chrono::hours(1);
}

ServiceTimer::Service::Service(ServiceTimer& timer, std::string name, Tick tick)
    : timer_(timer), name_(std::move(name)), tick_(std::move(tick)) {}

ServiceTimer::Service::~Service() {
    stop();
}

void ServiceTimer::Service::start() {
    const std::lock_guard only_one(timer_.lifecycle_);
    if (!timer_.thread_.joinable())
        timer_.thread_ =
            std::jthread([&timer = timer_](const std::stop_token& stop) { timer.work(stop); });
    const std::lock_guard lock(timer_.mutex_);
    if (timer_.is_started(*this)) return;
    due_ = Clock::now();
    timer_.started_.push_back(this);
    timer_.wake_up_by(due_);
}

void ServiceTimer::Service::stop() {
    const std::lock_guard only_one(timer_.lifecycle_);
    {
        std::unique_lock lock(timer_.mutex_);
        std::erase(timer_.started_, this);
        timer_.ended_.wait(lock, [&] { return timer_.running_ != this; });
        if (!timer_.started_.empty()) return;
    }
    timer_.thread_ = {};  // joins it
}

void ServiceTimer::Service::run_by(Clock::time_point time) {
    const std::lock_guard lock(timer_.mutex_);
    if (time >= due_ || !timer_.is_started(*this)) return;
    due_ = time;
    timer_.wake_up_by(time);
}

// The mutex is held.
bool ServiceTimer::is_started(const Service& service) const {
    return std::ranges::find(started_, &service) != started_.end();
}

// The mutex is held.
void ServiceTimer::wake_up_by(Clock::time_point time) {
    if (time >= asleep_until_) return;  // always so while the thread is awake
    asleep_until_ = {};
    changed_.notify_one();
}

// The mutex is held. Returns null if no service is started.
ServiceTimer::Service* ServiceTimer::next() const {
    const auto found = std::ranges::min_element(started_, {}, &Service::due_);
    return found == started_.end() ? nullptr : *found;
}

void ServiceTimer::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        Service* const service = next();
        const auto now = Clock::now();
        if (service != nullptr && service->due_ <= now) {
            run(*service, lock);
            continue;
        }
        const auto until =
            std::min(service == nullptr ? never : service->due_, now + longest_sleep);
        asleep_until_ = until;
        changed_.wait_until(lock, stop, until, [&] { return asleep_until_ != until; });
        asleep_until_ = {};
    }
}

// The mutex is held, except while the service runs.
void ServiceTimer::run(Service& service, std::unique_lock<std::mutex>& lock) {
    running_ = &service;
    service.due_ = never;
    lock.unlock();
    const auto again = tick(service);
    lock.lock();
    // run_by() may have been called in the meantime.
    service.due_ = std::min(service.due_, again);
    running_ = nullptr;
    ended_.notify_all();
}

ServiceTimer::Clock::time_point ServiceTimer::tick(const Service& service) const {
    std::string error;
    try {
        return service.tick_(Clock::now());
    } catch (const std::exception& thrown) {
        error = thrown.what();
    } catch (...) {
        error = "not a std::exception";
    }
    log_.error(fmt::format("{} failed, retrying in 1 s: {}", service.name_, error));
    return Clock::now() + pause_after_error;
}

}  // namespace pawl::runtime
