// pawl trigger: starts a run of a workflow, and may wait for its output.
#include "cli/commands/trigger.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/commands/wait_for_run.h"
#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/frame/json_input.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

std::string as_json(const TriggerArguments& arguments, const Run& run) {
    return json_object(
        {{"workflow", arguments.workflow}, {"id", run.id().value()}, {"created", run.created()}}
    );
}

// Prints the id first: a caller that gets no output still has the run.
ExitCode wait_for_output(
    const Context& context, const TriggerArguments& arguments, const Store& store, const Run& run
) {
    context.remark(fmt::format("run {}", run.id().value()));
    const auto json = as_json(arguments, run);
    try {
        const Json output = wait_for_run(context, store, run.id(), *arguments.wait);
        context.answer(with_field(json, "output", output.text), output.text);
        return ExitCode::ok;
    } catch (const Error&) {
        if (context.json()) context.print(with_field(json, "output", "null"));
        throw;
    }
}

// The workflow of a function has no shape, and is started with `trigger`.
void check_flow(const Store& store, const std::string& name) {
    try {
        (void)store.flow_shape(name);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::flow_not_found) throw;
        const auto workflows = store.workflows();
        if (std::ranges::find(workflows, name, &WorkflowInfo::name) == workflows.end()) throw;
        throw HintedError(
            error.code(),
            fmt::format("'{}' is a workflow, not a flow", name),
            fmt::format("start it with: pawl trigger {} JSON", name)
        );
    }
}

ExitCode start_run(const Context& context, const TriggerArguments& arguments) {
    const NewRun new_run{arguments.workflow, json_input(arguments.input), arguments.options};
    const Store store = context.connect();
    if (arguments.kind == Startable::flow) check_flow(store, arguments.workflow);
    const Run run = Trigger(new_run).execute(store);
    if (!run.created()) context.remark("a run with this key exists already; this is its id:");
    if (arguments.wait) return wait_for_output(context, arguments, store, run);
    context.answer(as_json(arguments, run), std::to_string(run.id().value()));
    return ExitCode::ok;
}

}  // namespace

ExitCode trigger(const Context& context, const TriggerArguments& arguments) {
    if (!arguments.wait) return start_run(context, arguments);
    return waiting(context, [&] { return start_run(context, arguments); });
}

void add_trigger_options(
    const Command& command, const std::shared_ptr<TriggerArguments>& arguments
) {
    auto& options = arguments->options;
    command
        .optional_argument(
            "JSON", arguments->input, "The parameters (default null); - is standard input"
        )
        .option("--priority", options.priority, "Deliver higher priorities first (default 0)")
        .option("--delay", options.delay, "Start the run after this long")
        .time_option("--at", options.at, Bare::from_now, "Start the run at this time or later")
        .option(
            "--key",
            options.idempotency_key,
            "The idempotency key: a second trigger with it creates no run"
        )
        .option(
            "--max-attempts",
            options.max_attempts,
            "Execute a step at most this often (default: the workflow's)"
        )
        .option("--parent", options.parent, "The run that this run belongs to")
        .repeated_option("--tag", options.tags, "A tag for the filters of lists; may be repeated")
        .option(
            "--wait", arguments->wait, "Wait at most this long for the end, and print the output"
        )
        .exclusive({"--delay", "--at"});
}

void add_trigger_command(const Command& root) {
    const auto arguments = std::make_shared<TriggerArguments>();
    const auto command =
        root.add("trigger", "Start a run of a workflow; print its id when it is durable");
    command.argument("NAME", arguments->workflow, "The workflow");
    add_trigger_options(command, arguments);
    command
        .examples(
            "  pawl trigger zip_files '{\"folder\":\"photos\"}' --key photos-2026 --tag nightly\n"
            "  pawl trigger zip_files '{\"folder\":\"photos\"}' --wait 30s\n"
            "  jq .order order.json | pawl trigger ship_order -"
        )
        .run([arguments](const Context& context) { return trigger(context, *arguments); });
}

}  // namespace pawl::cli
