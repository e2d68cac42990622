// pawl workflow create | list | show | pause | resume | delete | metrics.
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/frame/literals.h"
#include "cli/output/render.h"
#include "cli/output/run_tables.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct WorkflowArguments {
    std::string name;
    WorkflowOptions options;
    Duration window = 1h;
};

std::string or_none(const std::optional<Duration>& duration, const char* none) {
    return duration ? short_duration(*duration) : none;
}

// The delays of a flow have a fixed cap.
std::string backoff(const WorkflowInfo& workflow) {
    return fmt::format(
        "{} to {}",
        short_duration(workflow.backoff_base),
        workflow.is_flow ? "1h" : short_duration(workflow.backoff_cap)
    );
}

std::string describe(const View& view, const WorkflowInfo& workflow) {
    return fmt::format(
        "workflow      {}\nkind          {}\nstate         {}\nmax attempts  {}\nbackoff       {}\n"
        "lease         {}\nrun timeout   {}\nmax strikes   {}\ndead letters  {}\n"
        "audit         {}\npublish       {}\ncreated       {}",
        workflow.name,
        workflow.is_flow ? "flow" : "code",
        view.status(workflow.paused ? "paused" : "active"),
        workflow.max_attempts,
        backoff(workflow),
        or_none(workflow.lease, "default"),
        or_none(workflow.run_timeout, "none"),
        workflow.max_strikes,
        workflow.dead_letter_workflow.empty() ? "-" : workflow.dead_letter_workflow,
        to_string(workflow.audit),
        to_string(workflow.publish),
        view.time(workflow.created_at)
    );
}

void add_create_workflow(const Command& group) {
    const auto arguments = std::make_shared<WorkflowArguments>();
    auto& options = arguments->options;
    group.add("create", "Create a workflow, or change the settings that are given")
        .argument("NAME", arguments->name, "The workflow")
        .option(
            "--max-attempts", options.max_attempts, "Execute a step at most this often (default 3)"
        )
        .option(
            "--backoff-base",
            options.backoff_base,
            "The delay before the second execution (default 1s)"
        )
        .option("--backoff-cap", options.backoff_cap, "The delay doubles up to this (default 5m)")
        .option(
            "--lease",
            options.lease,
            "A worker that is silent for this long loses the run (default 30s)"
        )
        .option(
            "--run-timeout",
            options.run_timeout,
            "The limit from start to end; 0s means no limit (default)"
        )
        .option(
            "--max-strikes",
            options.max_strikes,
            "Deliveries without a report before the run fails (default 5)"
        )
        .option(
            "--dead-letter-workflow",
            options.dead_letter_workflow,
            "Trigger this workflow for every run that fails; '' turns it off (default)"
        )
        .option("--audit", options.audit, "Which events of its runs to keep (default exceptions)")
        .option("--publish", options.publish, "Which events of its runs to publish (default off)")
        .examples(
            "  pawl workflow create zip_files --max-attempts 5 --run-timeout 1h\n"
            "  pawl workflow create zip_files --dead-letter-workflow zip_failed"
        )
        .run([arguments](const Context& context) {
            const auto workflow =
                context.connect().create_workflow(arguments->name, arguments->options);
            context.answer(to_json(workflow), describe(context.view(), workflow));
            return ExitCode::ok;
        });
}

ExitCode list_workflows(const Context& context) {
    const Store store = context.connect();
    const auto workflows = store.workflows();
    const auto view = context.view();
    const auto now = store.now();
    Table table(
        {Column{"WORKFLOW"}.cut_to(16),
         {"KIND"},
         Column{"STATE"}.status(),
         Column{"ATTEMPTS", Align::right}.left_out(8),
         Column{"BACKOFF"}.left_out(7),
         Column{"LEASE", Align::right}.left_out(4),
         Column{"RUN TIMEOUT", Align::right}.left_out(5),
         Column{"STRIKES", Align::right}.left_out(3),
         Column{"DEAD LETTERS"}.left_out(6).cut_to(12),
         Column{"AUDIT"}.left_out(2),
         Column{"PUBLISH"}.left_out(1),
         {"CREATED"}}
    );
    for (const auto& workflow : workflows) {
        table.add(
            {workflow.name,
             workflow.is_flow ? "flow" : "code",
             workflow.paused ? "paused" : "active",
             std::to_string(workflow.max_attempts),
             backoff(workflow),
             or_none(workflow.lease, "default"),
             or_none(workflow.run_timeout, "none"),
             std::to_string(workflow.max_strikes),
             workflow.dead_letter_workflow.empty() ? "-" : workflow.dead_letter_workflow,
             std::string(to_string(workflow.audit)),
             std::string(to_string(workflow.publish)),
             view.age(workflow.created_at, now)}
        );
    }
    context.answer(json_array_of(workflows), table.text(view));
    return ExitCode::ok;
}

ExitCode show_workflow(const Context& context, const std::string& name) {
    const Store store = context.connect();
    const auto workflow = store.workflow_info(name);
    const auto runs = store.count_runs({.workflow = name});
    context.answer(
        with_field(to_json(workflow), "runs", to_json(runs)),
        describe(context.view(), workflow) + "\nruns          " + in_words(runs)
    );
    return ExitCode::ok;
}

ExitCode remove_workflow(const Context& context, const std::string& name) {
    context.connect().delete_workflow(name);
    context.answer(
        json_object({{"workflow", name}, {"deleted", true}}),
        fmt::format("workflow {} deleted", name)
    );
    return ExitCode::ok;
}

enum class Delivery { paused, active };

// Of the queue that carries the runs of a workflow, or the tasks of a flow.
ExitCode set_delivery(const Context& context, const std::string& name, Delivery delivery) {
    const Store store = context.connect();
    (void)store.workflow_info(name);  // an unknown name is a missing workflow, not a missing queue
    const bool pause = delivery == Delivery::paused;
    if (pause) {
        store.queue(name).pause();
    } else {
        store.queue(name).resume();
    }
    const auto text = pause ? "paused; runs can be triggered, workers start none" : "resumed";
    context.answer(to_json(store.workflow_info(name)), fmt::format("workflow {} {}", name, text));
    return ExitCode::ok;
}

void add_pause_and_resume_workflow(const Command& group) {
    const auto name = std::make_shared<std::string>();
    group.add("pause", "Let workers start no run of a workflow or flow; triggers still work")
        .argument("NAME", *name, "The workflow or flow")
        .examples("  pawl workflow pause zip_files")
        .run([name](const Context& context) {
            return set_delivery(context, *name, Delivery::paused);
        });
    group.add("resume", "Let workers start runs of a workflow or flow again")
        .argument("NAME", *name, "The workflow or flow")
        .examples("  pawl workflow resume zip_files")
        .run([name](const Context& context) {
            return set_delivery(context, *name, Delivery::active);
        });
}

std::string describe(const WorkflowMetrics& metrics) {
    return fmt::format(
        "workflow     {}, runs that ended in the last {}\n"
        "ended        {} succeeded, {} failed, {} cancelled\n"
        "rates        {:.1f}% success, {:.1f}% failure, {:.3g} runs/s\n"
        "duration     average {}, p50 {}, p95 {}, p99 {}\n"
        "now          {} ready, {} in flight, {} waiting\n"
        "oldest ready {}",
        metrics.workflow,
        short_duration(metrics.window),
        to_string(metrics.succeeded),
        to_string(metrics.failed),
        to_string(metrics.cancelled),
        metrics.success_rate * 100,
        metrics.failure_rate * 100,
        metrics.runs_per_second,
        or_none(metrics.average_duration, "-"),
        or_none(metrics.p50_duration, "-"),
        or_none(metrics.p95_duration, "-"),
        or_none(metrics.p99_duration, "-"),
        to_string(metrics.queue_depth),
        to_string(metrics.in_flight),
        to_string(metrics.waiting),
        metrics.oldest_waiting ? "for " + short_duration(*metrics.oldest_waiting) : "-"
    );
}

ExitCode metrics(const Context& context, const WorkflowArguments& arguments) {
    const auto found = context.connect().workflow_metrics(arguments.name, arguments.window);
    context.answer(to_json(found), describe(found));
    return ExitCode::ok;
}

}  // namespace

void add_workflow_commands(const Command& root) {
    const auto arguments = std::make_shared<WorkflowArguments>();
    const auto group = root.add("workflow", "Create, list, pause, measure and delete workflows");
    group.examples(
        "  pawl workflow create zip_files --max-attempts 5\n"
        "  pawl workflow show zip_files\n"
        "  pawl workflow pause zip_files\n"
        "  pawl workflow metrics zip_files --window 10m"
    );
    add_create_workflow(group);
    group.add("list", "List the workflows and their settings")
        .examples("  pawl workflow list")
        .run(list_workflows);
    group.add("show", "Show one workflow and count its runs")
        .argument("NAME", arguments->name, "The workflow")
        .examples("  pawl workflow show zip_files")
        .run([arguments](const Context& context) { return show_workflow(context, arguments->name); }
        );
    add_pause_and_resume_workflow(group);
    group.add("delete", "Delete a workflow and its finished runs; refused if it has live runs")
        .argument("NAME", arguments->name, "The workflow")
        .examples("  pawl workflow delete zip_files")
        .run([arguments](const Context& context) {
            return remove_workflow(context, arguments->name);
        });
    group.add("metrics", "Show rates, durations and throughput of the runs that ended recently")
        .argument("NAME", arguments->name, "The workflow")
        .option(
            "--window", arguments->window, "Count the runs that ended within this time (default 1h)"
        )
        .examples("  pawl workflow metrics zip_files --window 10m")
        .run([arguments](const Context& context) { return metrics(context, *arguments); });
}

}  // namespace pawl::cli
