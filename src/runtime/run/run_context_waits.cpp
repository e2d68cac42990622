// Pauses and sleeps: what a run waits for without a thread.
#include <algorithm>
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "runtime/run/run_context.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using seam::RecordedStep;
using seam::StepRecord;
using seam::Write;

Json RunContext::pause(
    const std::string& name, const std::string& message, std::optional<Duration> check_after
) {
    enter();
    if (check_after) model::check_positive("pause: check_after", *check_after);
    const std::string id = log_.next_id(name);
    if (auto result = replayed(id)) return std::move(*result);
    StepRecord record = new_record(id);
    --record.attempt;
    pause_at(std::move(record), message, {}, check_after);
}

void RunContext::pause_at(
    StepRecord record,
    const std::string& message,
    const std::string& condition,
    std::optional<Duration> check_after
) {
    Write write = suspend_write(
        RunStatus::paused, check_after.value_or(backend_.options().pause_check_interval)
    );
    record.status = StepStatus::paused;
    record.pause_message = model::storable_text(message);
    record.pause_condition = model::storable_text(condition);
    const RecordedStep* before = log_.find(record.id);
    const bool first = before == nullptr || before->status != StepStatus::paused;
    if (first && audits()) {
        write.event = "paused";
        write.event_data =
            model::to_json({"pause", record.pause_message, record.id, record.attempt}).text;
    } else if (audits_all()) {
        write.event = "suspended";
        write.event_data = step_event_data(record);
    }
    write.step = std::move(record);
    suspend(std::move(write));
}

void RunContext::reject_answer(
    const std::string& name,
    const std::string& question,
    std::optional<Duration> check_after,
    const std::exception_ptr& thrown
) {
    const std::string id = log_.last_id(name);
    const RecordedStep* step = log_.find(id);
    // What this execution has recorded itself is no answer.
    if (step == nullptr || !has_result(step->status)) throw_undecodable(id, thrown);
    const std::string why = fmt::format("answer rejected: {}", model::describe(thrown).message);
    const std::string message =
        model::storable_text(question.empty() ? why : fmt::format("{} ({})", question, why));
    const Lease lease = executing_.messages.front().lease();
    const Duration next_check = check_after.value_or(backend_.options().pause_check_interval);
    const auto outcome = engine::retrying(backend_, [&] {
        return backend_.reject_resume(lease, id, message, next_check);
    });
    if (outcome == seam::Rejection::used) throw_undecodable(id, thrown);
    if (outcome == seam::Rejection::done) {
        executing_.reported = true;
        backend_.log().warning(fmt::format(
            "run {} of workflow '{}' pauses at step '{}' again: {}",
            lease.message.value(),
            executing_.workflow->name,
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
    StepRecord record = new_record(id);
    --record.attempt;
    const RecordedStep* before = log_.find(id);
    if (before != nullptr && before->wake_at) until = before->wake_at;
    if (until ? *until <= executing_.claimed_at : delay <= Duration::zero()) {
        record.output = "null";
        record.wake_at = until;
        return commit_step(std::move(record));
    }
    Write write = suspend_write(RunStatus::paused, delay);
    write.until = until;
    record.status = StepStatus::paused;
    record.wake_at = until;
    record.wake_after_delay = !until;
    if (audits_all()) {
        write.event = "suspended";
        write.event_data = step_event_data(record);
    }
    write.step = std::move(record);
    suspend(std::move(write));
}

}  // namespace pawl::runtime
