// The handle of a run: reading it, and waiting for its end.
#include <algorithm>
#include <fmt/format.h>
#include <pawl/run.h>
#include <thread>

#include "base/deadline.h"
#include "engine/open_store.h"
#include "model/history.h"
#include "model/run_error.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;

// Wake-ups are hints: without one the waiter queries the store, first after this part of the
// store's poll_interval (20 ms by default), then less and less often (500 ms).
constexpr int first_poll_part = 250;
constexpr int longest_poll_part = 10;
// Wake-ups may arrive in thousands: at every commit, if it is not known which run it concerns.
constexpr std::chrono::microseconds shortest_interval{200};

[[noreturn]] void throw_missing(RunId id) {
    throw Error(ErrorCode::run_not_found, fmt::format(model::texts::run_missing, id.value()));
}

// For a run that will have no output.
[[noreturn]] void throw_end(const RunInfo& run) {
    if (run.deleted_at)
        throw Error(
            ErrorCode::run_deleted,
            fmt::format("run {} was deleted: {}", run.id.value(), run.deleted_reason)
        );
    if (run.status == RunStatus::cancelled)
        throw Error(
            ErrorCode::run_cancelled,
            fmt::format(
                "run {} was cancelled: {}",
                run.id.value(),
                model::to_run_error(run.error.value_or(Json{})).message
            )
        );
    throw ExecutionFailed(
        run.id,
        fmt::format("run {} of '{}' failed: {}", run.id.value(), run.workflow, run.last_error),
        run.error.value_or(Json{})
    );
}

}  // namespace

RunInfo Run::info() const {
    auto found = store_->retrying([&](auto& backend) { return backend.find_run(id_); });
    if (!found) throw_missing(id_);
    return std::move(*found);
}

std::vector<StepInfo> Run::steps() const {
    auto steps = store_->retrying([&](auto& backend) { return backend.steps(id_); });
    if (steps.empty()) (void)info();  // throws if there is no such run
    return steps;
}

StepInfo Run::step(std::string_view id) const {
    auto all = steps();
    const auto found = std::ranges::find(all, id, &StepInfo::id);
    if (found != all.end()) return std::move(*found);
    throw Error(
        ErrorCode::step_not_found, fmt::format("run {} has no step '{}' recorded", id_.value(), id)
    );
}

std::vector<RunEvent> Run::events() const {
    auto events = store_->retrying([&](auto& backend) { return backend.events(id_); });
    if (events.empty()) (void)info();  // throws if there is no such run
    return events;
}

std::vector<HistoryEntry> Run::history() const {
    model::RunRows rows{info(), steps(), {}};
    if (rows.run.remaining_steps) rows.tasks = tasks();
    return model::merge_history(rows, events());
}

std::vector<RunInfo> Run::lineage() const {
    auto family = store_->retrying([&](auto& backend) { return backend.lineage(id_); });
    if (family.empty()) (void)info();
    return family;
}

Json Run::wait_json(Duration timeout, const std::stop_token& stop) const {
    seam::Backend& backend = *store_->backend();
    const auto deadline = base::deadline_after(timeout);
    seam::RunWakeups::Watch watch(backend.run_wakeups(), id_);
    // The output of a run that has succeeded; nothing while it is live.
    const auto result_of = [&](std::optional<seam::RunEnd> run) -> std::optional<Json> {
        if (!run) throw_missing(id_);
        if (run->deleted || (is_finished(run->status) && run->status != RunStatus::success))
            throw_end(info());
        if (run->status == RunStatus::success)
            return run->output ? std::move(*run->output) : Json{};
        return std::nullopt;
    };
    auto found = store_->retrying([&](auto& store) {
        return timeout > Duration::zero() ? store.announce_waiter(id_) : store.find_end(id_);
    });
    if (auto result = result_of(std::move(found))) return std::move(*result);
    const Duration poll_interval = backend.options().poll_interval;
    Duration poll = std::max<Duration>(poll_interval / first_poll_part, 1ms);
    while (Clock::now() < deadline && !stop.stop_requested()) {
        const auto asked_at = Clock::now();
        const bool woken = watch.wait(std::min(deadline, asked_at + poll), stop);
        if (stop.stop_requested()) break;
        if (woken) std::this_thread::sleep_until(std::min(deadline, asked_at + shortest_interval));
        auto now = store_->retrying([&](auto& store) { return store.find_end(id_); });
        if (auto result = result_of(std::move(now))) return std::move(*result);
        if (!woken) poll = std::min<Duration>(poll * 2, poll_interval / longest_poll_part);
    }
    if (stop.stop_requested())
        throw Error(
            ErrorCode::wait_stopped,
            fmt::format("the wait for run {} was stopped; the run continues", id_.value())
        );
    throw Error(
        ErrorCode::wait_timeout,
        fmt::format(
            "run {} has not ended within {} ms; it is {} and continues",
            id_.value(),
            timeout.count(),
            to_string(status())
        )
    );
}

void Run::on_end(std::function<void(const RunInfo&)> callback) const {
    if (!callback) throw Error(ErrorCode::invalid_argument, "on_end needs a function");
    // The watcher listens before it queries the run, so no end is missed.
    if (!store_->retrying([&](auto& backend) { return backend.announce_waiter(id_); }))
        throw_missing(id_);
    store_->end_callbacks().add(id_, std::move(callback));
}

}  // namespace pawl::inline v0
