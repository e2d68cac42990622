#include "runtime/run/run_waits.h"

#include <algorithm>
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "model/run_error.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using model::EventKind;
using seam::ReplayStep;
using seam::StepWrite;
using seam::Suspend;

Json RunWaits::pause(
    const std::string& name, const std::string& message, std::optional<Duration> check_after
) {
    run_.enter();
    if (check_after) model::check_positive("pause: check_after", *check_after);
    const std::string id = run_.step_log().next_id(name);
    if (auto result = run_.replayed(id)) return std::move(*result);
    StepWrite record = run_.new_record(id);
    --record.attempt;
    pause_at(std::move(record), message, {}, check_after);
}

void RunWaits::pause_at(
    StepWrite step,
    const std::string& message,
    const std::string& condition,
    std::optional<Duration> check_after
) {
    Suspend waits = run_.suspension_for(
        RunStatus::paused, check_after.value_or(run_.backend().options().pause_check_interval)
    );
    step.status = StepStatus::paused;
    step.pause_message = model::storable_text(message);
    step.pause_condition = model::storable_text(condition);
    const ReplayStep* before = run_.step_log().find(step.id);
    const bool first = before == nullptr || before->status != StepStatus::paused;
    if (!first) run_.suspend_at_step(std::move(waits), std::move(step));
    auto paused = audited(run_.call(), EventKind::paused, [&] {
        return model::to_json({"pause", step.pause_message, step.id, step.attempt}).text;
    });
    waits.step = std::move(step);
    run_.suspend(std::move(waits), std::move(paused));
}

void RunWaits::reject_answer(
    const std::string& name,
    const std::string& question,
    std::optional<Duration> check_after,
    const std::exception_ptr& thrown
) {
    const std::string id = run_.step_log().last_id(name);
    const ReplayStep* step = run_.step_log().find(id);
    // A result that this execution has recorded is not an answer.
    if (step == nullptr || !has_result(step->status)) throw_undecodable(id, thrown);
    const std::string why = fmt::format("answer rejected: {}", model::describe(thrown).message);
    const std::string message =
        model::storable_text(question.empty() ? why : fmt::format("{} ({})", question, why));
    const Lease lease = run_.call().lease();
    const Duration next_check = check_after.value_or(run_.backend().options().pause_check_interval);
    const auto outcome = engine::retrying(run_.backend(), [&] {
        return run_.backend().reject_resume(lease, id, message, next_check);
    });
    if (outcome == seam::Rejection::used) throw_undecodable(id, thrown);
    if (outcome == seam::Rejection::done) {
        run_.call().reported = true;
        run_.backend().log().warning(fmt::format(
            "run {} of workflow '{}' pauses at step '{}' again, its answer was rejected: {}",
            lease.message.value(),
            run_.call().workflow->name,
            id,
            message
        ));
    }
    run_.unwind(RunExecution::End::lost);  // the pause has released the lease
}

void throw_undecodable(const std::string& id, const std::exception_ptr& thrown) {
    throw Error(
        ErrorCode::serialization_error,
        fmt::format(
            "the recorded result of step '{}' does not decode: {}; use the type that was "
            "recorded, or fork the run from this step",
            id,
            model::describe(thrown).message
        )
    );
}

void RunWaits::sleep(Duration time) {
    model::check_delay("the time to sleep", std::max(time, Duration::zero()));
    sleep_as(time, std::nullopt);
}

void RunWaits::sleep_until(Timestamp time) {
    model::check_time(time);
    sleep_as({}, time);
}

// The end of a sleep is set by the database's clock when it is recorded, and compared with the
// clock of the claim.
void RunWaits::sleep_as(Duration delay, std::optional<Timestamp> until) {
    run_.enter();
    const std::string id = run_.step_log().next_id("sleep");
    if (run_.replayed(id)) return;
    StepWrite step = run_.new_record(id);
    --step.attempt;
    const ReplayStep* before = run_.step_log().find(id);
    if (before != nullptr && before->wake_at) until = before->wake_at;
    if (until ? *until <= run_.call().claimed_at() : delay <= Duration::zero()) {
        step.output = "null";
        step.wake_at = until;
        return run_.record(run_.checkpoint(std::move(step)));
    }
    Suspend waits = run_.suspension_for(RunStatus::paused, delay);
    waits.until = until;
    step.status = StepStatus::paused;
    step.wake_at = until;
    step.wake_after_delay = !until;
    run_.suspend_at_step(std::move(waits), std::move(step));
}

}  // namespace pawl::runtime
