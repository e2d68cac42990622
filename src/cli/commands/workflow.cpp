// pawl workflow create | list | show | delete | metrics.
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
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

// A flow's delays have a cap of their own.
std::string backoff(const WorkflowInfo& workflow) {
    return fmt::format(
        "{} to {}",
        short_duration(workflow.backoff_base),
        workflow.is_flow ? "1h" : short_duration(workflow.backoff_cap)
    );
}

std::string settings(const WorkflowInfo& workflow) {
    return fmt::format(
        "max attempts {}, backoff {} to {}, lease {}, run timeout {}, max strikes {}, {}, audit "
        "{}, "
        "publish {}",
        workflow.max_attempts,
        short_duration(workflow.backoff_base),
        short_duration(workflow.backoff_cap),
        or_none(workflow.lease, "default"),
        or_none(workflow.run_timeout, "none"),
        workflow.max_strikes,
        workflow.dead_letter_workflow.empty() ? "no dead letter workflow"
                                              : "dead letters to " + workflow.dead_letter_workflow,
        to_string(workflow.audit),
        to_string(workflow.publish)
    );
}

void add_create_workflow(const Command& group) {
    const auto arguments = std::make_shared<WorkflowArguments>();
    auto& options = arguments->options;
    group.add("create", "Create a workflow, or change the given settings of an existing one")
        .argument("NAME", arguments->name, "The workflow")
        .option("--max-attempts", options.max_attempts, "Executions of a step (default 3)")
        .option("--backoff-base", options.backoff_base, "Before the second one (default 1s)")
        .option("--backoff-cap", options.backoff_cap, "It doubles up to that (default 5m)")
        .option("--lease", options.lease, "How long a silent worker keeps a run (default 30s)")
        .option("--run-timeout", options.run_timeout, "From start to end; 0s: none (default)")
        .option("--max-strikes", options.max_strikes, "Hand-outs without a report (default 5)")
        .option(
            "--dead-letter-workflow",
            options.dead_letter_workflow,
            "Triggered for every run that fails; '' is none (default)"
        )
        .option("--audit", options.audit, "Which events are kept (default exceptions)")
        .option("--publish", options.publish, "What its runs put into the outbox (default off)")
        .examples(
            "  pawl workflow create zip_files --max-attempts 5 --run-timeout 1h\n"
            "  pawl workflow create zip_files --dead-letter-workflow zip_failed"
        )
        .run([arguments](const Context& context) {
            const auto workflow =
                context.connect().create_workflow(arguments->name, arguments->options);
            context.answer(
                to_json(workflow), fmt::format("workflow {}: {}", workflow.name, settings(workflow))
            );
            return ExitCode::ok;
        });
}

ExitCode list_workflows(const Context& context) {
    const auto workflows = context.connect().workflows();
    Table table(
        {{"WORKFLOW"},
         {"KIND"},
         {"STATE"},
         {"ATTEMPTS", Align::right},
         {"BACKOFF"},
         {"LEASE", Align::right},
         {"RUN TIMEOUT", Align::right},
         {"STRIKES", Align::right},
         {"DEAD LETTERS"},
         {"AUDIT"},
         {"PUBLISH"},
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
             rfc3339_seconds(workflow.created_at)}
        );
    }
    context.answer(json_array_of(workflows), table.text(terminal_width()));
    return ExitCode::ok;
}

std::string describe(const WorkflowInfo& workflow, const RunCounts& runs) {
    return fmt::format(
        "workflow      {}\nkind          {}\nstate         {}\nmax attempts  {}\nbackoff       {}\n"
        "lease         {}\nrun timeout   {}\nmax strikes   {}\ndead letters  {}\n"
        "audit         {}\npublish       {}\ncreated       {}\nruns          {}",
        workflow.name,
        workflow.is_flow ? "flow" : "code",
        workflow.paused ? "paused" : "active",
        workflow.max_attempts,
        backoff(workflow),
        or_none(workflow.lease, "default"),
        or_none(workflow.run_timeout, "none"),
        workflow.max_strikes,
        workflow.dead_letter_workflow.empty() ? "-" : workflow.dead_letter_workflow,
        to_string(workflow.audit),
        to_string(workflow.publish),
        rfc3339(workflow.created_at),
        in_words(runs)
    );
}

ExitCode show_workflow(const Context& context, const std::string& name) {
    const Store store = context.connect();
    const auto workflow = store.workflow(name);
    const auto runs = store.count_runs({.workflow = name});
    context.answer(with_field(to_json(workflow), "runs", to_json(runs)), describe(workflow, runs));
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
    const auto found = workflow_metrics(arguments.name, context.connect(), arguments.window);
    context.answer(to_json(found), describe(found));
    return ExitCode::ok;
}

}  // namespace

void add_workflow_commands(const Command& root) {
    const auto arguments = std::make_shared<WorkflowArguments>();
    const auto group = root.add("workflow", "Create, list, measure and delete workflows");
    add_create_workflow(group);
    group.add("list", "List the workflows and their settings").run(list_workflows);
    group.add("show", "Show one workflow and count its runs")
        .argument("NAME", arguments->name, "The workflow")
        .examples("  pawl workflow show zip_files")
        .run([arguments](const Context& context) { return show_workflow(context, arguments->name); }
        );
    group.add("delete", "Delete a workflow and its finished runs; refuses while others exist")
        .argument("NAME", arguments->name, "The workflow")
        .examples("  pawl workflow delete zip_files")
        .run([arguments](const Context& context) {
            return remove_workflow(context, arguments->name);
        });
    group.add("metrics", "Success rate, durations and throughput of the runs that ended lately")
        .argument("NAME", arguments->name, "The workflow")
        .option("--window", arguments->window, "How far back (default 1h)")
        .examples("  pawl workflow metrics zip_files --window 10m")
        .run([arguments](const Context& context) { return metrics(context, *arguments); });
}

}  // namespace pawl::cli
