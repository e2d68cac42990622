#include <algorithm>
#include <fmt/format.h>
#include <pawl/run.h>
#include <thread>

#include "base/deadline.h"
#include "engine/reconnect.h"
#include "model/run_error.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;

namespace {

using Clock = std::chrono::steady_clock;

// Wake-ups are hints: without one the waiter queries the store, first after this part of the
// store's poll_interval (20 ms by default), then less and less often (500 ms).
constexpr int first_poll_part = 250;
constexpr int longest_poll_part = 10;
// Signals may come in thousands (every commit, where nobody knows whose it was).
constexpr std::chrono::microseconds shortest_look{200};

[[noreturn]] void throw_missing(RunId id) {
    throw Error(ErrorCode::run_not_found, fmt::format(model::texts::run_missing, id.value()));
}

// Of a run that will have no output.
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
    auto found = retrying(*backend_, [&] { return backend_->find_run(id_); });
    if (!found) throw_missing(id_);
    return std::move(*found);
}

std::vector<StepInfo> Run::steps() const {
    auto steps = retrying(*backend_, [&] { return backend_->steps(id_); });
    if (steps.empty()) (void)info();  // says that there is no such run
    return steps;
}

Json Run::wait_json(Duration timeout) const {
    const auto deadline = base::deadline_after(timeout);
    seam::RunWakeups::Watch watch(backend_->run_wakeups(), id_);
    // The output of a run that has succeeded; nothing while it goes on.
    const auto result_of = [&](std::optional<seam::RunEnd> run) -> std::optional<Json> {
        if (!run) throw_missing(id_);
        if (run->deleted || (is_finished(run->status) && run->status != RunStatus::success))
            throw_end(info());
        if (run->status == RunStatus::success)
            return run->output ? std::move(*run->output) : Json{};
        return std::nullopt;
    };
    auto found = retrying(*backend_, [&] {
        return timeout > Duration::zero() ? backend_->announce_waiter(id_)
                                          : backend_->find_end(id_);
    });
    if (auto result = result_of(std::move(found))) return std::move(*result);
    const Duration poll_interval = backend_->options().poll_interval;
    Duration poll = std::max<Duration>(poll_interval / first_poll_part, 1ms);
    while (Clock::now() < deadline) {
        const auto looked_at = Clock::now();
        const bool told = watch.wait(std::min(deadline, looked_at + poll));
        if (told) std::this_thread::sleep_until(std::min(deadline, looked_at + shortest_look));
        auto now = retrying(*backend_, [&] { return backend_->find_end(id_); });
        if (auto result = result_of(std::move(now))) return std::move(*result);
        if (!told) poll = std::min<Duration>(poll * 2, poll_interval / longest_poll_part);
    }
    throw Error(
        ErrorCode::wait_timeout,
        fmt::format(
            "run {} has not ended within {} ms; it is {} and goes on",
            id_.value(),
            timeout.count(),
            to_string(status())
        )
    );
}

}  // namespace pawl
