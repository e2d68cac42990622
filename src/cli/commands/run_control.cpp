// pawl run wait | resume | cancel | wake | retry | fork | delete.
#include "cli/commands/run_control.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "cli/commands/wait_for_run.h"
#include "cli/frame/error_output.h"
#include "cli/frame/json_input.h"
#include "cli/frame/literals.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

constexpr Duration no_limit = 24h * 365;

struct RunArguments {
    RunId id;
    std::string step;
    std::optional<std::string> data;
    std::string reason;
    bool early = false;
    Duration timeout = no_limit;
};

ExitCode answer_run(
    const Context& context, const Store& store, RunId id, const std::string& as_text
) {
    context.answer(to_json(store.run(id).info()), as_text);
    return ExitCode::ok;
}

ExitCode wait(const Context& context, const RunArguments& arguments) {
    return waiting(context, [&] {
        const Store store = context.connect();
        const Json output = wait_for_run(context, store, arguments.id, arguments.timeout);
        return answer_run(context, store, arguments.id, output.text);
    });
}

ExitCode resume_run(const Context& context, const RunArguments& arguments) {
    const Json data = json_input(arguments.data);
    const Store store = context.connect();
    store.resume(arguments.id, arguments.step, data, {.early = arguments.early});
    const auto steps = store.run(arguments.id).steps();
    const auto step = std::ranges::find(steps, arguments.step, &StepInfo::id);
    const bool has_result = step != steps.end() && step->completed_at;
    const auto id = arguments.id.value();
    const auto text = has_result
                          ? fmt::format("step {} of run {} has its result", arguments.step, id)
                          : fmt::format("kept until run {} pauses at step {}", id, arguments.step);
    return answer_run(context, store, arguments.id, text);
}

ExitCode cancel(const Context& context, const RunArguments& arguments) {
    const Store store = context.connect();
    store.cancel(arguments.id, arguments.reason);
    const auto text = fmt::format("run {} cancelled", arguments.id.value());
    return answer_run(context, store, arguments.id, text);
}

ExitCode wake(const Context& context, const RunArguments& arguments) {
    const Store store = context.connect();
    store.wake(arguments.id);
    const auto text = fmt::format(
        "run {} is delivered now; if it sleeps or is paused, it continues to wait",
        arguments.id.value()
    );
    return answer_run(context, store, arguments.id, text);
}

// Prints only the new id, as trigger does.
ExitCode retry_run(const Context& context, const RunArguments& arguments) {
    const Store store = context.connect();
    const RunId made = store.retry(arguments.id).id();
    return answer_run(context, store, made, std::to_string(made.value()));
}

ExitCode fork(const Context& context, const RunArguments& arguments) {
    const Store store = context.connect();
    const RunId made = store.fork(arguments.id, arguments.step).id();
    return answer_run(context, store, made, std::to_string(made.value()));
}

ExitCode remove_run(const Context& context, const RunArguments& arguments) {
    const Store store = context.connect();
    store.delete_run(arguments.id, arguments.reason);
    const auto text = fmt::format("run {} deleted", arguments.id.value());
    return answer_run(context, store, arguments.id, text);
}

using RunOperation = ExitCode (*)(const Context&, const RunArguments&);
using SharedRunArguments = std::shared_ptr<RunArguments>;

Command add_operation(
    const Command& group,
    const std::string& name,
    const std::string& help,
    const SharedRunArguments& arguments,
    RunOperation apply
) {
    auto command = group.add(name, help);
    command.argument("ID", arguments->id, "The run")
        .run([arguments, apply](const Context& context) { return apply(context, *arguments); });
    return command;
}

}  // namespace

void add_run_control_commands(const Command& group) {
    const auto arguments = std::make_shared<RunArguments>();
    add_operation(group, "wait", "Wait for the end of a run and print its output", arguments, wait)
        .option("--timeout", arguments->timeout, "Wait at most this long (default: no limit)")
        .examples("  pawl run wait 42 --timeout 30s");
    add_operation(
        group,
        "resume",
        "Set the result of the step that a run waits at, and resume the run",
        arguments,
        resume_run
    )
        .argument("STEP", arguments->step, "The step")
        .optional_argument(
            "JSON", arguments->data, "The result of the step (default null); - is standard input"
        )
        .flag(
            "--early",
            arguments->early,
            true,
            "Keep the result if the run does not wait at the step yet"
        )
        .examples(
            "  pawl run resume 42 approval '{\"approved\":true}'\n"
            "  pawl run resume 42 approval '{\"approved\":true}' --early"
        );
    add_operation(
        group, "cancel", "Cancel a run, and notify the worker that executes it", arguments, cancel
    )
        .required_option("--reason", arguments->reason, "The reason, which is stored with the run")
        .examples("  pawl run cancel 42 --reason 'wrong customer'");
    add_operation(group, "wake", "Deliver a delayed, retrying or paused run now", arguments, wake)
        .examples("  pawl run wake 42");
    add_operation(
        group,
        "retry",
        "Create a run that takes over the finished steps of a failed or cancelled run",
        arguments,
        retry_run
    )
        .examples("  pawl run retry 42");
    add_operation(
        group, "fork", "Create a run that takes over only the steps before STEP", arguments, fork
    )
        .argument("STEP", arguments->step, "The first step that is executed again")
        .examples("  pawl run fork 42 charge");
    add_operation(
        group,
        "delete",
        "Hide a run from lists; a live run is cancelled first",
        arguments,
        remove_run
    )
        .required_option("--reason", arguments->reason, "The reason, which is stored with the run")
        .examples("  pawl run delete 42 --reason 'test data'");
}

}  // namespace pawl::cli
