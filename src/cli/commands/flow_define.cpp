// pawl flow create | add-step | shape | ensure | delete | list.
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands/flow.h"
#include "cli/output/flow_tables.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct FlowArguments {
    std::string slug;
    FlowOptions options;
    FlowStep step;
    std::string file;
    EnsureMode ensure = EnsureMode::refuse_different;
    DeleteMode deletion = DeleteMode::if_empty;
};

ExitCode create(const Context& context, const FlowArguments& arguments) {
    const Store store = context.connect();
    store.create_flow(arguments.slug, arguments.options);
    const auto shape = store.flow_shape(arguments.slug);
    context.answer(
        to_json(shape).text, fmt::format("flow {}: {}", shape.slug, flow_settings(shape.options))
    );
    return ExitCode::ok;
}

std::string describe_step(const FlowShape& shape, const std::string& slug) {
    const auto step = std::ranges::find(shape.steps, slug, &FlowStep::slug);
    return fmt::format(
        "flow {}, step {}: {}{}{}",
        shape.slug,
        step - shape.steps.begin(),
        slug,
        step->type == StepType::map ? ", a map" : "",
        step->deps.empty() ? "" : fmt::format(", after {}", fmt::join(step->deps, ", "))
    );
}

ExitCode add_step(const Context& context, const FlowArguments& arguments) {
    const Store store = context.connect();
    store.add_step(arguments.slug, arguments.step);
    const auto shape = store.flow_shape(arguments.slug);
    context.answer(to_json(shape).text, describe_step(shape, arguments.step.slug));
    return ExitCode::ok;
}

ExitCode show_shape(const Context& context, const FlowArguments& arguments) {
    const auto shape = context.connect().flow_shape(arguments.slug);
    auto text = fmt::format("flow {}: {}\n", shape.slug, flow_settings(shape.options));
    if (!shape.steps.empty()) text += "\n" + flow_shape_table(context.view(), shape);
    context.answer(to_json(shape).text, text);
    return ExitCode::ok;
}

std::string contents(const std::string& file) {
    if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
    std::ifstream in(file);
    if (!in) throw UsageError(fmt::format("cannot read '{}'", file));
    return {std::istreambuf_iterator<char>(in), {}};
}

ExitCode ensure(const Context& context, const FlowArguments& arguments) {
    const auto shape = to_flow_shape(Json(contents(arguments.file)));
    const auto ensured =
        std::string(to_string(context.connect().ensure_flow(shape, arguments.ensure)));
    context.answer(
        json_object({{"flow", shape.slug}, {"ensured", ensured}}),
        fmt::format("flow {}: {}", shape.slug, ensured)
    );
    return ExitCode::ok;
}

ExitCode remove_flow(const Context& context, const FlowArguments& arguments) {
    context.connect().delete_flow_and_data(arguments.slug, arguments.deletion);
    context.answer(
        json_object({{"flow", arguments.slug}, {"deleted", true}}),
        fmt::format("flow {} deleted", arguments.slug)
    );
    return ExitCode::ok;
}

ExitCode list_flows(const Context& context) {
    const Store store = context.connect();
    auto flows = store.workflows();
    const auto view = context.view();
    const auto now = store.now();
    std::erase_if(flows, [](const WorkflowInfo& workflow) { return !workflow.is_flow; });
    Table table(
        {Column{"FLOW"}.cut_to(16),
         Column{"STATE"}.status(),
         Column{"ATTEMPTS", Align::right}.left_out(3),
         Column{"BACKOFF BASE", Align::right}.left_out(2),
         {"TIMEOUT", Align::right},
         Column{"AUDIT"}.left_out(1),
         {"CREATED"}}
    );
    for (const auto& flow : flows) {
        table.add(
            {flow.name,
             flow.paused ? "paused" : "active",
             std::to_string(flow.max_attempts),
             short_duration(flow.backoff_base),
             flow.task_timeout ? short_duration(*flow.task_timeout) : "none",
             std::string(to_string(flow.audit)),
             view.age(flow.created_at, now)}
        );
    }
    context.answer(json_array_of(flows), table.text(view));
    return ExitCode::ok;
}

void add_create_flow(const Command& group, const std::shared_ptr<FlowArguments>& arguments) {
    auto& options = arguments->options;
    group.add("create", "Create a flow, or change the settings that are given")
        .argument("SLUG", arguments->slug, "The flow")
        .option(
            "--max-attempts", options.max_attempts, "Start a task at most this often (default 3)"
        )
        .option(
            "--backoff-base,--base-delay",
            options.backoff_base,
            "The delay before the first retry; it doubles (default 5s)"
        )
        .option(
            "--timeout",
            options.task_timeout,
            "The timeout of a task; 0s means no limit (default 60s)"
        )
        .examples("  pawl flow create web_analysis --max-attempts 5 --timeout 2m")
        .run([arguments](const Context& context) { return create(context, *arguments); });
}

void add_add_step(const Command& group, const std::shared_ptr<FlowArguments>& arguments) {
    auto& step = arguments->step;
    auto& options = step.options;
    group.add("add-step", "Add a step to a flow; adding the same step again changes nothing")
        .argument("FLOW", arguments->slug, "The flow")
        .argument("STEP", step.slug, "The new step")
        .repeated_option("--dep", step.deps, "Start the step after this step; may be repeated")
        .flag(
            "--map",
            step.type,
            StepType::map,
            "Create one task per element of the dependency's array"
        )
        .option(
            "--max-attempts",
            options.max_attempts,
            "Start a task at most this often (default: the flow's)"
        )
        .option(
            "--backoff-base,--base-delay",
            options.backoff_base,
            "The delay before the first retry; it doubles (default: the flow's)"
        )
        .option(
            "--timeout",
            options.task_timeout,
            "The timeout of a task; 0s means no limit (default: the flow's)"
        )
        .option("--start-delay", options.start_delay, "Wait this long after the last dependency")
        .option(
            "--required",
            options.required_input_pattern,
            "Execute the step only if its input contains this"
        )
        .option(
            "--forbidden",
            options.forbidden_input_pattern,
            "Execute the step only if its input does not contain this"
        )
        .option(
            "--when-unmet",
            options.when_unmet,
            "What to do if one of these does not hold (default skip)"
        )
        .option(
            "--when-exhausted",
            options.when_exhausted,
            "What to do if all attempts have failed (default fail)"
        )
        .examples(
            "  pawl flow add-step web_analysis fetch_url\n"
            "  pawl flow add-step web_analysis create_report --dep analyze_text --dep images\n"
            "  pawl flow add-step web_analysis resize --dep images --map --when-exhausted skip"
        )
        .run([arguments](const Context& context) { return add_step(context, *arguments); });
}

}  // namespace

void add_flow_definition_commands(const Command& group) {
    const auto arguments = std::make_shared<FlowArguments>();
    add_create_flow(group, arguments);
    add_add_step(group, arguments);
    group.add("shape", "Show a flow as it is declared; with --json in the form that ensure takes")
        .argument("SLUG", arguments->slug, "The flow")
        .examples("  pawl flow shape web_analysis --json > web_analysis.json")
        .run([arguments](const Context& context) { return show_shape(context, *arguments); });
    group.add("ensure", "Create a flow from JSON; refused if a different flow has that name")
        .argument(
            "FILE", arguments->file, "A file with the JSON of flow shape; - is standard input"
        )
        .flag(
            "--force",
            arguments->ensure,
            EnsureMode::force,
            "Replace a different flow and delete its runs; for development"
        )
        .examples("  pawl flow ensure web_analysis.json")
        .run([arguments](const Context& context) { return ensure(context, *arguments); });
    group.add("delete", "Delete a flow and its runs; refused if it has live runs")
        .argument("SLUG", arguments->slug, "The flow")
        .flag("--force", arguments->deletion, DeleteMode::force, "Delete live runs too")
        .examples("  pawl flow delete web_analysis")
        .run([arguments](const Context& context) { return remove_flow(context, *arguments); });
    group.add("list", "List the flows and their settings")
        .examples("  pawl flow list")
        .run(list_flows);
}

}  // namespace pawl::cli
