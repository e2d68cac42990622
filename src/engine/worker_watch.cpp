#include "engine/worker_watch.h"

#include <fmt/format.h>
#include <system_error>

namespace pawl::engine {

namespace {
constexpr Duration check_every = 10s;
}

WorkerWatch::~WorkerWatch() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool WorkerWatch::is_time(const std::string& workflow) {
    const auto now = std::chrono::steady_clock::now();
    const auto [at, first] = checked_at_.try_emplace(workflow, now);
    if (!first && now - at->second < check_every) return false;
    at->second = now;
    return true;
}

void WorkerWatch::triggered(std::span<const NewRun> runs, std::span<const Run> handles) {
    const std::lock_guard lock(mutex_);
    const std::string* last = nullptr;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!handles[i].created()) continue;  // an older run has the key: this one does not wait
        const std::string& workflow = runs[i].workflow;
        if (last != nullptr && *last == workflow) continue;
        last = &workflow;
        if (is_time(workflow)) pending_.push_back(workflow);
    }
    if (pending_.empty()) return;
    try {
        if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
        // The runs are stored; only the warning is missing.
        pending_.clear();
        backend_.log().warning(
            fmt::format("cannot check for live workers, cannot start a thread: {}", error.what())
        );
    }
    changed_.notify_one();
}

void WorkerWatch::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return ending_ || !pending_.empty(); });
        if (pending_.empty()) return;
        const std::string workflow = std::move(pending_.front());
        pending_.pop_front();
        lock.unlock();
        check(workflow);
        lock.lock();
    }
}

void WorkerWatch::check(const std::string& workflow) {
    try {
        if (backend_.has_live_handler(workflow)) return;
        backend_.log().warning(fmt::format(
            "workflow '{}' has no live worker: its runs wait until one starts", workflow
        ));
    } catch (const std::exception& error) {
        backend_.log().debug(
            fmt::format("cannot check for live workers of '{}': {}", workflow, error.what())
        );
    }
}

}  // namespace pawl::engine
