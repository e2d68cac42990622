// pawl run list | show | steps | history | count: commands that change nothing.
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/commands/run_control.h"
#include "cli/frame/commands.h"
#include "cli/output/render.h"
#include "cli/output/run_details.h"
#include "cli/output/run_tables.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct ListArguments {
    RunFilter filter;
    RunPage page;
};

// A filter by an unknown name would silently match nothing.
void check_workflow(const Store& store, const RunFilter& filter) {
    if (filter.workflow) (void)store.workflow_info(*filter.workflow);
}

// How to continue a run of the list that waits for a caller.
void remark_paused(const Context& context, const RunWaits& waits) {
    const auto resumable = [](const auto& wait) { return !wait.second.command().empty(); };
    const auto count = std::ranges::count_if(waits, resumable);
    if (count == 0) return;
    const auto newest = std::ranges::find_if(waits.rbegin(), waits.rend(), resumable);
    context.remark(fmt::format(
        "{} for a resume; for example: {}",
        count == 1 ? std::string("1 run waits") : fmt::format("{} runs wait", count),
        newest->second.command()
    ));
}

ExitCode list_runs(const Context& context, const ListArguments& arguments) {
    const Store store = context.connect();
    check_workflow(store, arguments.filter);
    const auto runs = store.runs(arguments.filter, arguments.page);
    if (context.json()) {
        context.print(json_array_of(runs));
        return ExitCode::ok;
    }
    const auto waits = find_waits(store, runs);
    context.print(run_table(context.view(), runs, waits, store.now()));
    remark_paused(context, waits);
    if (runs.size() == static_cast<std::size_t>(arguments.page.limit))
        context.remark(fmt::format("more with: --before {}", runs.back().id.value()));
    return ExitCode::ok;
}

ExitCode count(const Context& context, const RunFilter& filter) {
    const Store store = context.connect();
    check_workflow(store, filter);
    const auto counts = store.count_runs(filter);
    Table table({Column{"STATUS"}.status(), {"RUNS", Align::right}});
    const auto add = [&](RunStatus status, const Count& runs) {
        if (filter.status.value_or(status) == status)
            table.add({std::string(to_string(status)), to_string(runs)});
    };
    add(RunStatus::queued, counts.queued);
    add(RunStatus::running, counts.running);
    add(RunStatus::paused, counts.paused);
    add(RunStatus::success, counts.success);
    add(RunStatus::error, counts.error);
    add(RunStatus::cancelled, counts.cancelled);
    context.answer(to_json(counts), table.text(context.view()));
    return ExitCode::ok;
}

ExitCode show_run(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto details = look_up(store, id);
    WorkerNames workers(store);
    context.print(context.json() ? details.as_json() : details.as_text(context.view(), workers));
    return ExitCode::ok;
}

ExitCode steps(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto found = look_up_steps(store, id);
    WorkerNames workers(store);
    context.print(context.json() ? found.as_json() : found.as_text(context.view(), workers));
    return ExitCode::ok;
}

ExitCode history(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto entries = store.run(id).history();
    WorkerNames workers(store);
    context.print(
        context.json() ? json_array_of(entries) : history_table(context.view(), entries, workers)
    );
    return ExitCode::ok;
}

const Command& add_filter(const Command& command, RunFilter& filter) {
    return command.option("--workflow", filter.workflow, "Only runs of this workflow or flow")
        .option("--status", filter.status, "Only runs with this status")
        .time_option("--since", filter.created_from, Bare::ago, "Created at this time or later")
        .time_option("--until", filter.created_before, Bare::ago, "Created before this time")
        .option("--tag", filter.tag, "Only runs with this tag")
        .option("--key", filter.idempotency_key, "Only the run with this idempotency key")
        .flag("--deleted", filter.include_deleted, true, "Include deleted runs");
}

}  // namespace

void add_run_commands(const Command& root) {
    const auto arguments = std::make_shared<ListArguments>();
    const auto id = std::make_shared<RunId>();
    const auto group = root.add("run", "List, show and control the runs of workflows and flows");
    group.examples(
        "  pawl run list --status ERROR --since 1h\n"
        "  pawl run show 42\n"
        "  pawl run resume 42 approval '{\"approved\":true}'\n"
        "  pawl run retry 42"
    );
    add_filter(group.add("list", "List runs, newest first"), arguments->filter)
        .option("--before", arguments->page.before, "Start below this id: the next page")
        .option("--limit", arguments->page.limit, "Show at most this many (default 100)")
        .examples(
            "  pawl run list --workflow zip_files --status ERROR\n"
            "  pawl run list --tag nightly --since 1d\n"
            "  pawl run list --since 2026-01-31T00:00:00Z --full"
        )
        .run([arguments](const Context& context) { return list_runs(context, *arguments); });
    group.add("show", "Show everything about one run: steps, events, retries and forks")
        .argument("ID", *id, "The run")
        .examples("  pawl run show 42")
        .run([id](const Context& context) { return show_run(context, *id); });
    group.add("steps", "Show the steps of one run, in its order")
        .argument("ID", *id, "The run")
        .examples("  pawl run steps 42 --json")
        .run([id](const Context& context) { return steps(context, *id); });
    group.add("history", "Show what happened to one run, in order of time")
        .argument("ID", *id, "The run")
        .examples("  pawl run history 42\n  pawl run history 42 --json")
        .run([id](const Context& context) { return history(context, *id); });
    add_filter(
        group.add("count", "Count runs by status; takes the filters of run list"), arguments->filter
    )
        .examples("  pawl run count --workflow zip_files")
        .run([arguments](const Context& context) { return count(context, arguments->filter); });
    add_run_control_commands(group);
}

}  // namespace pawl::cli
