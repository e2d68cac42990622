#include "runtime/run/run_steps.h"

#include <fmt/format.h>

#include "model/check.h"
#include "model/check_run.h"
#include "runtime/metrics/meters.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::EventKind;
using model::Thrown;
using seam::Checkpoint;
using seam::StepWrite;
using seam::Suspend;
using seam::Write;

namespace {

using End = RunExecution::End;

constexpr std::string_view step_output = "the step's output";

model::RunError step_error(const StepWrite& record, const Thrown& why) {
    return {why.type, why.message, record.id, record.attempt};
}

}  // namespace

Thrown step_timeout(Duration timeout, std::string_view and_more) {
    const std::string message =
        fmt::format("it took longer than {} ms{}", timeout.count(), and_more);
    return {Thrown::Kind::transient, "timeout", message, {}, {}};
}

Json RunSteps::step(const std::string& name, const StepOptions& options, Context::Body body) {
    run_.enter();
    model::check_step_options(name, options, run_.backend().options().max_payload_bytes);
    const std::string id = run_.step_log().next_id(name);
    if (auto result = run_.replayed(id)) return std::move(*result);
    return execute(id, options, body);
}

std::pair<std::string, std::optional<Json>> RunSteps::acquire(const std::string& name) {
    run_.enter();
    std::string id = run_.step_log().next_id(name);
    auto result = run_.replayed(id);
    if (!result) acquired_.insert_or_assign(id, Acquired{run_.new_record(id), Clock::now()});
    return {std::move(id), std::move(result)};
}

StepWrite RunSteps::take_acquired(const std::string& id) {
    run_.enter();
    auto taken = acquired_.extract(id);
    if (taken.empty()) misuse(fmt::format("step '{}' already has a result", id));
    measure(taken.mapped().record, taken.mapped().started_at);
    return std::move(taken.mapped().record);
}

void RunSteps::succeed(const std::string& id, const Json& output) {
    model::check_output(step_output, output.text, run_.backend().options().max_payload_bytes);
    StepWrite record = take_acquired(id);
    record.output = output.text;
    (void)record_executed(std::move(record));
}

void RunSteps::fail(const std::string& id, const std::string& message) {
    fail_step(take_acquired(id), {}, {Thrown::Kind::permanent, "permanent", message, {}, {}});
}

std::optional<std::stop_source> RunSteps::begin(const std::string& id, const StepOptions& options) {
    RunExecution::RunningStep step;
    step.record = run_.new_record(id);
    if (options.input) step.record->input = options.input->text;
    step.options = &options;
    step.started_at = Clock::now();
    if (options.timeout) step.stop.emplace();
    auto stop = step.stop;
    run_.lock()->step = std::move(step);
    return stop;
}

// Throws Unwinding if the watchdog has reported the step in the meantime.
RunExecution::RunningStep RunSteps::finish_body() {
    const auto shared = run_.lock();
    if (shared->end != End::none || !shared->step) throw Unwinding{};
    RunExecution::RunningStep step = std::move(*shared->step);
    shared->step.reset();
    measure(*step.record, step.started_at);
    return step;
}

Json RunSteps::execute(const std::string& id, const StepOptions& options, Context::Body body) {
    std::optional<std::stop_callback<std::function<void()>>> forward;
    if (auto stop = begin(id, options)) {
        forward.emplace(run_.call().stop.get_token(), [source = std::move(*stop)]() mutable {
            source.request_stop();
        });
    }
    Json output;
    std::exception_ptr thrown;
    try {
        const RunExecution::BodyScope scope(run_);
        output = body();
        model::check_output(step_output, output.text, run_.backend().options().max_payload_bytes);
    } catch (const Unwinding&) {
        throw;
    } catch (...) {
        thrown = std::current_exception();
    }
    RunExecution::RunningStep step = finish_body();
    // The function may have been stopped because of it.
    if (run_.cancelled()) run_.unwind(End::lost);
    const bool late =
        options.timeout && (step.timed_out || step.record->elapsed >= *options.timeout);
    if (!thrown && !late) {
        step.record->output = std::move(output.text);
        Write written = record_executed(std::move(step.record));
        return Json{std::move(*written.as<Checkpoint>().step->output)};
    }
    if (run_.time_is_over()) run_.unwind(End::timed_out);
    const Thrown why = late ? step_timeout(*options.timeout, "") : model::describe(thrown);
    fail_step(std::move(step.record), options, why);
}

Write RunSteps::record_executed(Record step) {
    Write write = run_.checkpoint(std::move(step));
    run_.record(write);
    HandlerMeters* const meters = run_.call().meters();
    if (meters == nullptr) return write;
    const StepWrite& recorded = *write.as<Checkpoint>().step;
    const bool succeeded = recorded.status == StepStatus::success;
    (succeeded ? meters->steps_succeeded : meters->steps_failed).add();
    meters->step_duration.observe(recorded.elapsed);
    return write;
}

void RunSteps::fail_step(Record record, const StepOptions& options, const Thrown& why) {
    if (why.kind == Thrown::Kind::pause) {
        --record->attempt;  // a pause does not use an attempt
        waits_.pause_at(std::move(*record), why.message, why.condition, why.delay);
    }
    Write write = step_failure(std::move(record), options, why);
    if (write.is<Suspend>()) run_.suspend(std::move(write.as<Suspend>()), std::move(write.event));
    const Write written = record_executed(std::move(write.as<Checkpoint>().step));
    const StepWrite& failed = *written.as<Checkpoint>().step;
    throw_step_error(failed.id, *failed.error);
}

// Another attempt later, or the end of the step.
Write RunSteps::step_failure(Record record, const StepOptions& options, const Thrown& why) const {
    const RunCall& call = run_.call();
    const int attempts = options.max_attempts.value_or(run_.max_attempts());
    record->error = model::to_json(step_error(*record, why)).text;
    const std::string what = fmt::format("step '{}' of {}", record->id, call.subject());
    if (why.kind == Thrown::Kind::permanent || record->attempt >= attempts) {
        call.log().failed(what, {record->attempt, attempts, {}}, why.message);
        record->status = StepStatus::error;
        return run_.checkpoint(std::move(record));
    }
    const Duration delay = why.delay.value_or(run_.backoff(record->attempt - 1, options));
    call.log().failed(what, {record->attempt, attempts, delay}, why.message);
    Suspend retry = run_.suspension_for(RunStatus::running, delay);
    retry.last_error = model::storable_text(model::readable(step_error(*record, why)));
    auto event = audited(call, EventKind::step_retry, [&] { return *record->error; });
    record->status = StepStatus::pending;
    retry.step = std::move(record);
    return {call.lease(), std::move(retry), std::move(event)};
}

}  // namespace pawl::runtime
