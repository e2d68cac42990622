#include "engine/end_callbacks.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::engine {

namespace {

using Clock = std::chrono::steady_clock;

// If no wake-up arrives, this many runs are checked every tenth of the store's poll_interval.
constexpr std::size_t checks_per_poll = 100;
constexpr int poll_part = 10;

}  // namespace

class EndCallbacks::Watcher {
public:
    explicit Watcher(std::shared_ptr<seam::Backend> backend)
        : backend_(std::move(backend)), group_(backend_->run_wakeups()) {}

    void add(RunId run, Callback callback);
    void work();
    void stop() { stop_.request_stop(); }

private:
    struct Awaited {
        Awaited(seam::RunWakeups& wakeups, RunId run, seam::RunWakeups::Group& group)
            : watch(wakeups, run, &group) {}
        seam::RunWakeups::Watch watch;
        std::vector<Callback> callbacks;
    };

    [[nodiscard]] std::set<RunId> next_in_turn();
    void check(RunId run);
    void call(const Callback& callback, const RunInfo& info);
    [[nodiscard]] bool has_ended(RunId run);
    [[nodiscard]] RunInfo info_of(RunId run);
    [[nodiscard]] std::vector<Callback> take(RunId run);

    const std::shared_ptr<seam::Backend> backend_;
    seam::RunWakeups::Group group_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::map<RunId, Awaited> awaited_;  // guarded by mutex_, like the next two
    std::set<RunId> added_;
    RunId turn_;
};

void EndCallbacks::Watcher::add(RunId run, Callback callback) {
    {
        const std::lock_guard lock(mutex_);
        auto [at, is_new] = awaited_.try_emplace(run, backend_->run_wakeups(), run, group_);
        at->second.callbacks.push_back(std::move(callback));
        added_.insert(run);
    }
    group_.interrupt();
}

void EndCallbacks::Watcher::work() {
    const Duration poll = std::max<Duration>(backend_->options().poll_interval / poll_part, 1ms);
    const auto stop = stop_.get_token();
    while (!stop.stop_requested()) {
        auto runs = group_.wait(Clock::now() + poll, stop);
        if (runs.empty()) runs = next_in_turn();
        for (const RunId run : runs) {
            if (stop.stop_requested()) return;
            check(run);
        }
    }
}

// The runs added since the last call, and the next ones in turn.
std::set<RunId> EndCallbacks::Watcher::next_in_turn() {
    const std::lock_guard lock(mutex_);
    auto runs = std::exchange(added_, {});
    auto at = awaited_.upper_bound(turn_);
    for (std::size_t i = 0; i < std::min(checks_per_poll, awaited_.size()); ++i, ++at) {
        if (at == awaited_.end()) at = awaited_.begin();
        runs.insert(turn_ = at->first);
    }
    return runs;
}

// If the database does not answer, the run is checked again in a later turn.
void EndCallbacks::Watcher::check(RunId run) {
    base::Outage::Reporter outage(backend_->outage());
    try {
        if (!has_ended(run)) return;
        const RunInfo info = info_of(run);
        for (const Callback& callback : take(run)) {
            if (stop_.stop_requested()) return;
            call(callback, info);
        }
    } catch (const Error& error) {
        if (!outage.failed(error))
            backend_->log().warning(fmt::format(
                "cannot check whether run {} has ended, retrying: {}", run.value(), error.what()
            ));
    }
}

void EndCallbacks::Watcher::call(const Callback& callback, const RunInfo& info) {
    try {
        callback(info);
    } catch (const std::exception& error) {
        backend_->log().error(
            fmt::format("the on_end callback of run {} threw: {}", info.id.value(), error.what())
        );
    } catch (...) {
        backend_->log().error(
            fmt::format("the on_end callback of run {} threw an unknown exception", info.id.value())
        );
    }
}

bool EndCallbacks::Watcher::has_ended(RunId run) {
    {
        const std::lock_guard lock(mutex_);
        if (!awaited_.contains(run)) return false;  // its callbacks were called already
    }
    const auto end = backend_->find_end(run);
    return !end || end->deleted || is_finished(end->status);
}

RunInfo EndCallbacks::Watcher::info_of(RunId run) {
    if (auto info = backend_->find_run(run)) return std::move(*info);
    RunInfo pruned;
    pruned.id = run;
    pruned.status = RunStatus::cancelled;
    pruned.deleted_at = backend_->now();
    pruned.deleted_reason = "the run was removed before its end could be read";
    return pruned;
}

std::vector<EndCallbacks::Callback> EndCallbacks::Watcher::take(RunId run) {
    const std::lock_guard lock(mutex_);
    const auto at = awaited_.find(run);
    if (at == awaited_.end()) return {};
    auto callbacks = std::move(at->second.callbacks);
    awaited_.erase(at);
    return callbacks;
}

EndCallbacks::EndCallbacks(std::shared_ptr<seam::Backend> backend) : backend_(std::move(backend)) {}

EndCallbacks::~EndCallbacks() {
    if (!watcher_) return;
    watcher_->stop();
    // A callback dropped the last handle: the thread cannot join itself. It owns the watcher and
    // ends after the callback.
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void EndCallbacks::add(RunId run, Callback callback) {
    const std::lock_guard lock(mutex_);
    // Created by the first callback: to listen, a store opens a connection or watches its file.
    if (!watcher_) {
        watcher_ = std::make_shared<Watcher>(backend_);
        thread_ = std::thread([watcher = watcher_] { watcher->work(); });
    }
    watcher_->add(run, std::move(callback));
}

}  // namespace pawl::engine
