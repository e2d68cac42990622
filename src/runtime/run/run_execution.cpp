#include "runtime/run/run_execution.h"

#include <algorithm>
#include <exception>

#include "base/random.h"
#include "model/backoff.h"
#include "model/run_error.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using model::EventKind;
using seam::AuditEvent;
using seam::Checkpoint;
using seam::ReplayStep;
using seam::StepWrite;
using seam::Suspend;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {
// A step is not started if the lease ends within this time: its result might be too late.
constexpr Duration lease_margin = 50ms;
}  // namespace

void misuse(const std::string& what) {
    throw Error(ErrorCode::context_misuse, what);
}

void throw_step_error(const std::string& id, const std::string& error) {
    const model::RunError stored = model::to_run_error(Json{error});
    throw StepError(id, model::readable(stored), Json{error});
}

void measure(seam::StepWrite& record, RunExecution::Clock::time_point started_at) {
    record.measured_at = RunExecution::Clock::now();
    record.elapsed =
        std::chrono::duration_cast<std::chrono::microseconds>(record.measured_at - started_at);
}

RunExecution::RunExecution(RunCall& call, Committer& committer, seam::Engine& backend)
    : call_(call),
      committer_(committer),
      backend_(backend),
      owner_(std::this_thread::get_id()),
      fiber_(base::Fiber::current()),
      uncaught_(std::uncaught_exceptions()),
      log_(std::move(call.run.steps)) {
    if (const auto& timeout = call.workflow->run_timeout) {
        const auto left = call.run.started_at + *timeout - call.claimed_at();
        deadline_ = call.claimed_at_steady() + left;
    }
}

// --- entry checks ---

void RunExecution::check_caller() const {
    const base::Fiber* const fiber = base::Fiber::current();
    if (fiber != fiber_ || (fiber == nullptr && std::this_thread::get_id() != owner_))
        misuse(
            "a Context can only be used on the thread that runs the workflow's function; collect "
            "results there and record them from it"
        );
    if (std::uncaught_exceptions() > uncaught_)
        misuse(
            "a Context cannot be used while an exception unwinds the stack, such as in a destructor"
        );
}

void RunExecution::check_usable() const {
    check_caller();
    if (end() != End::none) throw Unwinding{};
}

void RunExecution::enter() {
    check_caller();
    if (in_body_)
        misuse(
            "a step's body cannot use steps, pauses or sleeps; use them in the workflow's "
            "function"
        );
    if (end() != End::none) throw Unwinding{};
    if (cancelled() || call_.lease_ends_at.load() - lease_margin <= Clock::now()) unwind(End::lost);
    if (time_is_over()) unwind(End::timed_out);
    if (call_.stop.stop_requested()) unwind(End::lost);
}

// --- exits ---

void RunExecution::unwind(End end) {
    if (const auto shared = lock(); shared->end == End::none) shared->end = end;
    throw Unwinding{};
}

void RunExecution::suspend(Suspend suspend, base::HeapOptional<AuditEvent> event) {
    if (const auto shared = lock(); shared->end == End::none) {
        shared->end = End::suspended;
        shared->suspension = Write{call_.lease(), std::move(suspend), std::move(event)};
    }
    throw Unwinding{};
}

void RunExecution::suspend_at_step(Suspend waits, StepWrite step) {
    auto event = audited(call_, EventKind::suspended, [&] { return step_event_data(step); });
    waits.step = std::move(step);
    suspend(std::move(waits), std::move(event));
}

Suspend RunExecution::suspension_for(RunStatus status, Duration delay) const {
    Suspend suspend;
    suspend.status = status;
    suspend.attempts = progressed_ ? 0 : call_.message.attempts;
    suspend.delay = std::max(delay, Duration::zero());
    return suspend;
}

// --- all kinds of steps ---

std::optional<Json> RunExecution::replayed(const std::string& id) const {
    const ReplayStep* step = log_.find(id);
    if (step == nullptr || !has_result(step->status)) return std::nullopt;
    if (step->status == StepStatus::error) throw_step_error(id, step->error);
    return Json{step->output.empty() ? std::string("null") : step->output};
}

StepWrite RunExecution::new_record(const std::string& id) {
    StepWrite record;
    record.id = id;
    record.position = log_.position(id);
    const ReplayStep* before = log_.find(id);
    record.attempt = before == nullptr ? 1 : failures(*before) + 1;
    return record;
}

Write RunExecution::checkpoint(Record record) const {
    base::HeapOptional<AuditEvent> event;
    if (record->status == StepStatus::error)
        event =
            audited(call_, EventKind::step_failed, [&] { return record->error.value_or("{}"); });
    if (record->status == StepStatus::success)
        event = audited(call_, EventKind::step_succeeded, [&] { return step_event_data(*record); });
    return {call_.lease(), Checkpoint{std::move(record)}, std::move(event)};
}

void RunExecution::record(const Write& checkpoint) {
    const WriteOutcome outcome = committer_.commit_one(checkpoint, Committer::Wait::park);
    switch (outcome.status) {
        case WriteStatus::done:
        case WriteStatus::busy:  // not a final outcome
            progressed_ = true;
            return;
        case WriteStatus::cancelled:
            call_.cancelled = true;
            unwind(End::lost);
        case WriteStatus::lease_lost:
            unwind(End::lost);
        case WriteStatus::rejected:
            break;
    }
    throw Error(ErrorCode::database_error, "the step cannot be recorded: " + outcome.error);
}

// --- attempts ---

int RunExecution::max_attempts() const {
    return call_.run.max_attempts.value_or(call_.workflow->max_attempts);
}

int RunExecution::failed_attempts() const {
    return progressed_ ? 1 : call_.message.attempts + 1;
}

Duration RunExecution::backoff(int failures, const StepOptions& options) const {
    return model::backoff(
        failures,
        options.backoff_base.value_or(call_.workflow->backoff_base),
        options.backoff_cap.value_or(call_.workflow->backoff_cap),
        base::random_fraction()
    );
}

}  // namespace pawl::runtime
