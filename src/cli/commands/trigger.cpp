// pawl trigger: starts a run of a workflow, and may wait for its output.
#include "cli/commands/trigger.h"

#include <fmt/format.h>

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

// The id comes first, so that nobody who is left without the output is left without the run.
ExitCode wait_for_output(
    const Context& context, const TriggerArguments& arguments, const Run& run
) {
    context.remark(fmt::format("run {}", run.id().value()));
    const auto json = as_json(arguments, run);
    try {
        const Json output = run.wait_json(*arguments.wait);
        context.answer(with_field(json, "output", output.text), output.text);
        return ExitCode::ok;
    } catch (const Error&) {
        if (context.json()) context.print(with_field(json, "output", "null"));
        throw;
    }
}

ExitCode start_run(const Context& context, const TriggerArguments& arguments) {
    const NewRun new_run{arguments.workflow, json_input(arguments.input), arguments.options};
    const Store store = context.connect();
    if (arguments.kind == Startable::flow) (void)store.get_flow_shape(arguments.workflow);
    const Run run = Trigger(new_run).execute(store);
    if (!run.created()) context.remark("a run with this key exists already; it is that one:");
    if (arguments.wait) return wait_for_output(context, arguments, run);
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
        .option("--priority", options.priority, "Higher ones go first (default 0)")
        .option("--delay", options.delay, "Not before that long from now")
        .option("--at", options.at, "Not before that time, like 2026-01-31T12:00:00Z")
        .option("--key", options.idempotency_key, "Only one run of the workflow with this key")
        .option("--max-attempts", options.max_attempts, "Executions of a step")
        .option("--parent", options.parent, "The run that this one belongs to")
        .repeated_option("--tag", options.tags, "To find it by; may be given several times")
        .option("--wait", arguments->wait, "Wait that long for the end and print the output")
        .exclusive({"--delay", "--at"});
}

void add_trigger_command(const Command& root) {
    const auto arguments = std::make_shared<TriggerArguments>();
    const auto command =
        root.add("trigger", "Start a run of a workflow; prints its id once it is durable");
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
