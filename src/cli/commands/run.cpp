// pawl run list | show | steps | history | count: looks, and changes nothing.
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

ExitCode list_runs(const Context& context, const ListArguments& arguments) {
    const auto runs = context.connect().runs(arguments.filter, arguments.page);
    context.answer(json_array_of(runs), run_table(runs));
    if (runs.size() == static_cast<std::size_t>(arguments.page.limit))
        context.remark(fmt::format("more with: --before {}", runs.back().id.value()));
    return ExitCode::ok;
}

ExitCode count(const Context& context, const RunFilter& filter) {
    const auto counts = context.connect().count_runs(filter);
    Table table({{"STATUS"}, {"RUNS", Align::right}});
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
    context.answer(to_json(counts), table.text(terminal_width()));
    return ExitCode::ok;
}

ExitCode show_run(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto story = look_up(store, id);
    WorkerNames workers(store);
    context.print(context.json() ? story.as_json() : story.as_text(workers));
    return ExitCode::ok;
}

ExitCode steps(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto found = look_up_steps(store, id);
    WorkerNames workers(store);
    context.print(context.json() ? found.as_json() : found.as_text(workers));
    return ExitCode::ok;
}

ExitCode history(const Context& context, RunId id) {
    const Store store = context.connect();
    const auto entries = store.history(id);
    WorkerNames workers(store);
    context.print(context.json() ? json_array_of(entries) : history_table(entries, workers));
    return ExitCode::ok;
}

const Command& add_filter(const Command& command, RunFilter& filter) {
    return command.option("--workflow", filter.workflow, "Of this workflow")
        .option("--status", filter.status, "Only these")
        .option("--since", filter.created_from, "Created then or later, like 2026-01-31T12:00:00Z")
        .option("--until", filter.created_before, "Created before then")
        .option("--tag", filter.tag, "With this tag")
        .option("--key", filter.idempotency_key, "With this idempotency key")
        .flag("--deleted", filter.include_deleted, true, "Deleted ones too");
}

}  // namespace

void add_run_commands(const Command& root) {
    const auto arguments = std::make_shared<ListArguments>();
    const auto id = std::make_shared<RunId>();
    const auto group = root.add("run", "See and steer the runs of workflows");
    add_filter(group.add("list", "List runs, newest first"), arguments->filter)
        .option("--before", arguments->page.before, "Start below this id")
        .option("--limit", arguments->page.limit, "How many at most (default 100)")
        .examples(
            "  pawl run list --workflow zip_files --status ERROR\n"
            "  pawl run list --tag nightly --since 2026-01-31T00:00:00Z"
        )
        .run([arguments](const Context& context) { return list_runs(context, *arguments); });
    group.add("show", "Everything about one run: its steps, its events, its relatives")
        .argument("ID", *id, "The run")
        .examples("  pawl run show 42")
        .run([id](const Context& context) { return show_run(context, *id); });
    group.add("steps", "The steps of one run, in its order")
        .argument("ID", *id, "The run")
        .examples("  pawl run steps 42 --json")
        .run([id](const Context& context) { return steps(context, *id); });
    group.add("history", "What became of one run, in the order of time")
        .argument("ID", *id, "The run")
        .examples("  pawl run history 42\n  pawl run history 42 --json")
        .run([id](const Context& context) { return history(context, *id); });
    add_filter(group.add("count", "Count runs by status"), arguments->filter)
        .examples("  pawl run count --workflow zip_files")
        .run([arguments](const Context& context) { return count(context, arguments->filter); });
    add_run_control_commands(group);
}

}  // namespace pawl::cli
