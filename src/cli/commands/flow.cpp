// pawl flow start | poll | complete | fail | show, and the group itself.
#include "cli/commands/flow.h"

#include <fmt/format.h>
#include <memory>
#include <optional>

#include "cli/commands/trigger.h"
#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/frame/json_input.h"
#include "cli/frame/literals.h"
#include "cli/output/flow_tables.h"
#include "cli/output/render.h"
#include "cli/output/run_details.h"

namespace pawl::cli {

namespace {

struct PollArguments {
    std::string flow;
    int max = 1;
    Duration lease = 30s;
};

struct ReportArguments {
    TaskRef task;
    // The index, and the output or error. A single word is stored in the first.
    std::optional<std::string> first;
    std::optional<std::string> second;
    int delivery = 0;
};

ExitCode poll(const Context& context, const PollArguments& arguments) {
    const auto tasks =
        context.connect().poll_for_tasks(arguments.flow, arguments.max, arguments.lease);
    if (tasks.empty()) {
        if (context.json()) context.print("[]");
        context.remark("no task is ready");
        return ExitCode::ok;
    }
    context.answer(json_array_of(tasks), polled_table(tasks));
    const auto& first = tasks.front();
    context.remark(fmt::format(
        "leased until {}; report with: pawl flow complete {} {} {} OUTPUT --delivery {}",
        context.view().seconds(first.lease_ends_at),
        first.task.run.value(),
        first.task.step,
        first.task.task_index,
        first.delivery
    ));
    return ExitCode::ok;
}

TaskRef task_of(const ReportArguments& arguments) {
    TaskRef task = arguments.task;
    if (!arguments.second) return task;
    try {
        parse_value(*arguments.first, task.task_index);
    } catch (const std::invalid_argument& error) {
        throw UsageError(fmt::format("INDEX: {}", error.what()));
    }
    return task;
}

std::string result_of(const ReportArguments& arguments, const char* name) {
    if (!arguments.first) throw UsageError(fmt::format("{} is required", name));
    return arguments.second ? *arguments.second : *arguments.first;
}

const char* outcome_in_words(TaskOutcome outcome) {
    switch (outcome) {
        case TaskOutcome::done:
            return "done";
        case TaskOutcome::finished:
            return "it has a result already";
        case TaskOutcome::cancelled:
            return "its run was cancelled, or has failed";
        case TaskOutcome::lease_lost:
            return "the lease of that delivery has ended";
        case TaskOutcome::not_running:
            return "it is not leased: poll it first";
        case TaskOutcome::unknown_task:
            return "there is no such task";
    }
    return "";
}

ExitCode answer_report(
    const Context& context, const TaskRef& task, int delivery, TaskOutcome outcome
) {
    const std::string word(to_string(outcome));
    const auto sentence = fmt::format(
        "task {} of step {} of run {}: {}",
        task.task_index,
        task.step,
        task.run.value(),
        outcome_in_words(outcome)
    );
    const auto json = json_object(
        {{"run_id", task.run.value()},
         {"step", task.step},
         {"task_index", task.task_index},
         {"delivery", delivery},
         {"outcome", word}}
    );
    const bool done = outcome == TaskOutcome::done;
    if (context.json() || done) context.answer(json, sentence);
    if (done) return ExitCode::ok;
    if (!context.json())
        report(
            context.format,
            {word,
             sentence + "; nothing was changed",
             fmt::format("see: pawl flow show {}", task.run.value())}
        );
    return ExitCode::failure;
}

ExitCode complete(const Context& context, const ReportArguments& arguments) {
    const auto task = task_of(arguments);
    const auto output = json_input(result_of(arguments, "OUTPUT"));
    const auto outcome = context.connect().complete_task(task, output, arguments.delivery);
    return answer_report(context, task, arguments.delivery, outcome);
}

ExitCode fail(const Context& context, const ReportArguments& arguments) {
    const auto task = task_of(arguments);
    const auto error = result_of(arguments, "ERROR");
    const auto outcome = context.connect().fail_task(task, error, arguments.delivery);
    return answer_report(context, task, arguments.delivery, outcome);
}

ExitCode show_flow_run(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto details = look_up(store, id);
    if (!details.steps.flow)
        throw HintedError(
            ErrorCode::invalid_argument,
            fmt::format(
                "run {} is a run of workflow '{}', which is not a flow",
                id.value(),
                details.steps.run.workflow
            ),
            fmt::format("run: pawl run show {}", id.value())
        );
    WorkerNames workers(store);
    context.print(context.json() ? details.as_json() : details.as_text(context.view(), workers));
    return ExitCode::ok;
}

Command add_report(
    const Command& group,
    const std::string& name,
    const std::string& help,
    const std::shared_ptr<ReportArguments>& arguments
) {
    auto command = group.add(name, help);
    command.argument("RUN", arguments->task.run, "The run")
        .argument("STEP", arguments->task.step, "The step")
        .optional_argument(
            "INDEX", arguments->first, "The index of a task of a map step (default 0)"
        )
        .option(
            "--delivery",
            arguments->delivery,
            "The delivery that poll has printed; a report for an older one changes nothing"
        );
    return command;
}

void add_reports(const Command& group) {
    const auto arguments = std::make_shared<ReportArguments>();
    add_report(
        group, "complete", "Report that a task has succeeded; its dependents may start", arguments
    )
        .argument_behind_optional(
            "OUTPUT", arguments->second, "The output, in JSON; - is standard input"
        )
        .examples(
            "  pawl flow complete 42 fetch_url '{\"status\":200}' --delivery 1\n"
            "  pawl flow complete 42 resize 3 '\"small/3.png\"' --delivery 1"
        )
        .run([arguments](const Context& context) { return complete(context, *arguments); });
    add_report(
        group,
        "fail",
        "Report that a task has failed; it is retried until its attempts are used",
        arguments
    )
        .argument_behind_optional("ERROR", arguments->second, "The error message")
        .examples("  pawl flow fail 42 fetch_url 'connection refused' --delivery 1")
        .run([arguments](const Context& context) { return fail(context, *arguments); });
}

}  // namespace

void add_flow_work_commands(const Command& group) {
    const auto started = std::make_shared<TriggerArguments>();
    started->kind = Startable::flow;
    const auto start = group.add("start", "Start a run of a flow; print its id when it is durable");
    start.argument("SLUG", started->workflow, "The flow");
    add_trigger_options(start, started);
    start.examples("  pawl flow start web_analysis '{\"url\":\"https://example.com\"}' --wait 30s")
        .run([started](const Context& context) { return trigger(context, *started); });

    const auto polled = std::make_shared<PollArguments>();
    group.add("poll", "Lease tasks and print them; report them before the lease ends")
        .argument("FLOW", polled->flow, "The flow")
        .option("--max,--qty", polled->max, "Take at most this many (default 1)")
        .option("--lease,--vt", polled->lease, "The lease of tasks without a timeout (default 30s)")
        .examples("  pawl flow poll web_analysis --max 10 --json | jq '.[].input'")
        .run([polled](const Context& context) { return poll(context, *polled); });
    add_reports(group);

    const auto id = std::make_shared<RunId>();
    group.add("show", "Show everything about one run: steps, tasks and events")
        .argument("RUN", *id, "The run")
        .examples("  pawl flow show 42")
        .run([id](const Context& context) { return show_flow_run(context, *id); });
}

void add_flow_commands(const Command& root) {
    const auto group = root.add("flow", "Declare flows, start them, and execute their tasks");
    group.examples(
        "  pawl flow create web_analysis\n"
        "  pawl flow add-step web_analysis fetch_url\n"
        "  pawl flow start web_analysis '{\"url\":\"https://example.com\"}'\n"
        "  pawl flow poll web_analysis"
    );
    add_flow_definition_commands(group);
    add_flow_work_commands(group);
}

}  // namespace pawl::cli
