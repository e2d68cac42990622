#include "runtime/run/run_runner.h"

#include <fmt/format.h>

#include "engine/access.h"
#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::EventKind;
using model::RunError;
using model::Thrown;
using seam::Suspend;
using seam::Write;

std::string RunCall::subject() const {
    return subject_of(spec(), message.id);
}

std::optional<std::vector<Write>> RunCall::execute() {
    return as_batch(runner_.run(*this));
}

std::chrono::microseconds RunCall::time_taken() const {
    return claimed_at() - run.started_at +
           std::chrono::duration_cast<std::chrono::microseconds>(
               Clock::now() - claimed_at_steady()
           );
}

std::optional<Write> RunRunner::run(RunCall& call) {
    if (!load_steps(call)) return std::nullopt;
    RunContext context(call, committer_, backend_);
    if (context.execution.time_is_over()) return timeout_write(call);
    const Watchdog::WatchScope scope(watchdog_, context.deadlines);
    return invoke(call, context);
}

bool RunRunner::load_steps(RunCall& call) {
    if (call.run.steps_loaded) return true;
    try {
        call.run.steps =
            engine::retrying(backend_, [&] { return backend_.recorded_steps(call.id()); });
        return true;
    } catch (const std::exception& error) {
        backend_.log().warning(fmt::format(
            "cannot read the steps of run {}, it will be delivered again after its lease: {}",
            call.id().value(),
            error.what()
        ));
        return false;
    }
}

std::optional<Write> RunRunner::invoke(RunCall& call, RunContext& context) {
    Json output;
    std::exception_ptr thrown;
    try {
        output = detail::Access::with_context(context, [&](Context& user_context) {
            return call.spec().workflow(user_context, call.message.payload);
        });
        if (context.execution.end() == RunExecution::End::none)
            model::check_output(
                "the run's output", output.text, backend_.options().max_payload_bytes
            );
    } catch (const Unwinding&) {
        return ended_early(call, context, false);
    } catch (...) {
        thrown = std::current_exception();
    }
    // The function caught the exception Unwinding: the run is suspended nevertheless.
    if (context.execution.end() != RunExecution::End::none) return ended_early(call, context, true);
    if (context.execution.cancelled()) return std::nullopt;
    return thrown ? thrown_outside(call, context.execution, thrown)
                  : success_write(call, std::move(output));
}

std::optional<Write> RunRunner::ended_early(RunCall& call, RunContext& context, bool swallowed) {
    switch (context.execution.end()) {
        case RunExecution::End::none:  // the user's code threw the Unwinding of another run
        case RunExecution::End::lost:
            return std::nullopt;
        case RunExecution::End::timed_out:
            return timeout_write(call);
        case RunExecution::End::suspended:
            break;
    }
    Write write = context.execution.suspension();
    if (swallowed) {
        call.log().write(
            LogLevel::warning,
            fmt::format(
                "run {} of workflow '{}' is suspended and its result discarded: its function "
                "caught "
                "the exception that suspends it, rethrow it in catch (...)",
                call.id().value(),
                call.workflow->name
            )
        );
        write.event = audited(call, EventKind::suspension_swallowed, [] { return "{}"; });
    }
    return write;
}

Write RunRunner::thrown_outside(
    const RunCall& call, const RunExecution& execution, const std::exception_ptr& thrown
) {
    try {
        std::rethrow_exception(thrown);
    } catch (const StepError& error) {
        return failure_write(call, error.error());
    } catch (...) {
    }
    const Thrown why = model::describe(thrown);
    if (why.kind == Thrown::Kind::pause) {
        Suspend pause = execution.suspension_for(
            RunStatus::paused, why.delay.value_or(backend_.options().pause_check_interval)
        );
        pause.last_error = model::storable_text(why.message);
        Write write{call.lease(), {}};
        // A re-check of a pause that continues is not reported as a new pause.
        if (call.message.last_error != pause.last_error) {
            write.event = audited(call, EventKind::paused, [&] {
                return model::to_json({"pause", pause.last_error, {}, 0}).text;
            });
        } else {
            write.event = audited(call, EventKind::suspended, [] { return "{}"; });
        }
        write.action = std::move(pause);
        return write;
    }
    const int attempts = execution.failed_attempts();
    const RunError error{why.type, why.message, {}, attempts};
    if (why.kind == Thrown::Kind::permanent || attempts >= execution.max_attempts())
        return failure_write(call, model::to_json(error));
    const Duration delay = why.delay.value_or(execution.backoff(attempts - 1));
    call.log().failed(call.subject(), {attempts, execution.max_attempts(), delay}, why.message);
    Suspend retry = execution.suspension_for(RunStatus::running, delay);
    retry.attempts = attempts;
    retry.last_error = model::storable_text(model::readable(error));
    Write write{call.lease(), std::move(retry)};
    write.event = audited(call, EventKind::run_retry, [&] { return model::to_json(error).text; });
    return write;
}

}  // namespace pawl::runtime
