#include "runtime/run/run_runner.h"

#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::RunError;
using model::Thrown;
using seam::Write;

std::optional<Write> RunRunner::run(Executing& executing) {
    if (!load_steps(executing)) return std::nullopt;
    RunContext context(executing, committer_, backend_);
    if (context.deadline() && *context.deadline() <= RunContext::Clock::now())
        return timeout_write(executing);
    const Watchdog::Attention attention(watchdog_, context);
    return call(executing, context);
}

bool RunRunner::load_steps(Executing& executing) {
    if (executing.run->steps_loaded) return true;
    const RunId id(executing.messages.front().id.value());
    try {
        executing.run->steps =
            engine::retrying(backend_, [&] { return backend_.recorded_steps(id); });
        return true;
    } catch (const std::exception& error) {
        backend_.log().warning(fmt::format(
            "run {} comes back after its lease, its steps could not be read: {}",
            id.value(),
            error.what()
        ));
        return false;
    }
}

std::optional<Write> RunRunner::call(Executing& executing, RunContext& context) {
    Context user_context(context);
    Json output;
    std::exception_ptr thrown;
    try {
        output = executing.spec->workflow(user_context, executing.messages.front().payload);
        if (context.end() == RunContext::End::none)
            model::check_output(
                "the run's output", output.text, backend_.options().max_payload_bytes
            );
    } catch (const Unwinding&) {
        return ended_early(executing, context, false);
    } catch (...) {
        thrown = std::current_exception();
    }
    // Somebody caught the unwinding: the run is suspended all the same.
    if (context.end() != RunContext::End::none) return ended_early(executing, context, true);
    if (context.cancelled()) return std::nullopt;
    return thrown ? thrown_outside(executing, context, thrown) : success_write(executing, output);
}

std::optional<Write> RunRunner::ended_early(
    Executing& executing, RunContext& context, bool swallowed
) {
    switch (context.end()) {
        case RunContext::End::none:  // an Unwinding of another run, thrown by the user's code
        case RunContext::End::lost:
            return std::nullopt;
        case RunContext::End::timed_out:
            return timeout_write(executing);
        case RunContext::End::suspended:
            break;
    }
    Write write = context.suspension();
    if (swallowed) {
        executing.log->write(
            LogLevel::warning,
            fmt::format(
                "run {} of workflow '{}': its function caught what suspends it, with catch (...): "
                "the "
                "result is discarded and the run is suspended all the same; let it pass",
                executing.messages.front().id.value(),
                executing.workflow->name
            )
        );
        if (context.audits()) {
            write.event = "suspension_swallowed";
            write.event_data = "{}";
        }
    }
    return write;
}

Write RunRunner::thrown_outside(
    const Executing& executing, const RunContext& context, const std::exception_ptr& thrown
) {
    try {
        std::rethrow_exception(thrown);
    } catch (const StepError& error) {
        return failure_write(executing, error.error());
    } catch (...) {
    }
    const Thrown why = model::describe(thrown);
    if (why.kind == Thrown::Kind::pause) {
        Write write = context.suspend_write(
            RunStatus::paused, why.delay.value_or(backend_.options().pause_check_interval)
        );
        write.reason = model::storable_text(why.message);
        // A pause that is checked, and goes on, is no new one.
        const bool first = executing.messages.front().last_error != write.reason;
        if (first && context.audits()) {
            write.event = "paused";
            write.event_data = model::to_json({"pause", write.reason, {}, 0}).text;
        } else if (context.audits_all()) {
            write.event = "suspended";
            write.event_data = "{}";
        }
        return write;
    }
    const int attempts = context.failed_attempts();
    const RunError error{why.type, why.message, {}, attempts};
    if (why.kind == Thrown::Kind::permanent || attempts >= context.max_attempts())
        return failure_write(executing, model::to_json(error));
    const Duration delay = why.delay.value_or(context.backoff(attempts - 1));
    executing.log->failed(
        subject_of(executing), {attempts, context.max_attempts(), delay}, why.message
    );
    Write write = context.suspend_write(RunStatus::running, delay);
    write.attempts = attempts;
    write.reason = model::storable_text(model::readable(error));
    if (context.audits()) {
        write.event = "run_retry";
        write.event_data = model::to_json(error).text;
    }
    return write;
}

}  // namespace pawl::runtime
