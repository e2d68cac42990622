#include "runtime/stop_notifier.h"

#include <system_error>

namespace pawl::runtime {

StopNotifier::~StopNotifier() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void StopNotifier::stop(std::stop_source source) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(source));
    changed_.notify_one();
    if (idle_ >= waiting_.size()) return;
    try {
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        if (threads_.empty()) throw;  // an existing thread will do it
    }
}

void StopNotifier::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [&] { return !waiting_.empty() || ending_; });
        --idle_;
        if (waiting_.empty()) return;
        std::stop_source next = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        next.request_stop();
        lock.lock();
    }
}

}  // namespace pawl::runtime
