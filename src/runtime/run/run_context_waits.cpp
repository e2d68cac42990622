// Pauses and sleeps: what a run waits for without a thread.
#include <algorithm>
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "runtime/run/run_context.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using model::EventKind;
using seam::ReplayStep;
using seam::StepWrite;
using seam::Suspend;

Json RunContext::pause(
    const std::string& name, const std::string& message, std::optional<Duration> check_after
) {
    enter();
    if (check_after) model::check_positive("pause: check_after", *check_after);
    const std::string id = log_.next_id(name);
    if (auto result = replayed(id)) return std::move(*result);
    StepWrite record = new_record(id);
    --record.attempt;
    pause_at(std::move(record), message, {}, check_after);
}

void RunContext::pause_at(
    StepWrite step,
    const std::string& message,
    const std::string& condition,
    std::optional<Duration> check_after
) {
    Suspend waits = suspension_for(
        RunStatus::paused, check_after.value_or(backend_.options().pause_check_interval)
    );
    step.status = StepStatus::paused;
    step.pause_message = model::storable_text(message);
    step.pause_condition = model::storable_text(condition);
    const ReplayStep* before = log_.find(step.id);
    const bool first = before == nullptr || before->status != StepStatus::paused;
    if (!first) suspend_at_step(std::move(waits), std::move(step));
    auto paused = audited(call_, EventKind::paused, [&] {
        return model::to_json({"pause", step.pause_message, step.id, step.attempt}).text;
    });
    waits.step = std::move(step);
    suspend(std::move(waits), std::move(paused));
}

void RunContext::reject_answer(
    const std::string& name,
    const std::string& question,
    std::optional<Duration> check_after,
    const std::exception_ptr& thrown
) {
    const std::string id = log_.last_id(name);
    const ReplayStep* step = log_.find(id);
    // What this execution has recorded itself is no answer.
    if (step == nullptr || !has_result(step->status)) throw_undecodable(id, thrown);
    const std::string why = fmt::format("answer rejected: {}", model::describe(thrown).message);
    const std::string message =
        model::storable_text(question.empty() ? why : fmt::format("{} ({})", question, why));
    const Lease lease = call_.lease();
    const Duration next_check = check_after.value_or(backend_.options().pause_check_interval);
    const auto outcome = engine::retrying(backend_, [&] {
        return backend_.reject_resume(lease, id, message, next_check);
    });
    if (outcome == seam::Rejection::used) throw_undecodable(id, thrown);
    if (outcome == seam::Rejection::done) {
        call_.reported = true;
        backend_.log().warning(fmt::format(
            "run {} of workflow '{}' pauses at step '{}' again: {}",
            lease.message.value(),
            call_.workflow->name,
            id,
            message
        ));
    }
    unwind(End::lost);  // the lease is given up with it
}

void RunContext::throw_undecodable(const std::string& id, const std::exception_ptr& thrown) {
    throw Error(
        ErrorCode::serialization_error,
        fmt::format(
            "the recorded result of step '{}' does not decode: {}; decode the type that was "
            "recorded, or fork the run from this step",
            id,
            model::describe(thrown).message
        )
    );
}

void RunContext::sleep(Duration time) {
    model::check_delay("the time to sleep", std::max(time, Duration::zero()));
    sleep_as(time, std::nullopt);
}

void RunContext::sleep_until(Timestamp time) {
    model::check_time(time);
    sleep_as({}, time);
}

// The end of a sleep is fixed when it is recorded, by the database's clock, and judged by the clock
// of the claim.
void RunContext::sleep_as(Duration delay, std::optional<Timestamp> until) {
    enter();
    const std::string id = log_.next_id("sleep");
    if (replayed(id)) return;
    StepWrite step = new_record(id);
    --step.attempt;
    const ReplayStep* before = log_.find(id);
    if (before != nullptr && before->wake_at) until = before->wake_at;
    if (until ? *until <= call_.claimed_at() : delay <= Duration::zero()) {
        step.output = "null";
        step.wake_at = until;
        return record(checkpoint(std::move(step)));
    }
    Suspend waits = suspension_for(RunStatus::paused, delay);
    waits.until = until;
    step.status = StepStatus::paused;
    step.wake_at = until;
    step.wake_after_delay = !until;
    suspend_at_step(std::move(waits), std::move(step));
}

}  // namespace pawl::runtime
