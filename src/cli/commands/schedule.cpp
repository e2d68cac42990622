// pawl schedule create | list | show | pause | resume | run | next | delete.
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/frame/json_input.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct CreateArguments {
    std::string name;
    std::string workflow;
    std::string cron;
    std::optional<std::string> params;
    ScheduleOptions options;
};

struct NextArguments {
    std::optional<std::string> name;
    std::optional<std::string> cron;
    std::string time_zone = "UTC";
    std::optional<Timestamp> after;
    int count = 5;
};

std::string seconds_or_dash(const std::optional<Timestamp>& time) {
    return time ? rfc3339_seconds(*time) : "-";
}

std::string state_of(const ScheduleInfo& schedule) {
    if (schedule.paused) return "paused";
    if (schedule.waiting_fire_at) return "waiting";
    return schedule.next_fire_at ? "active" : "over";
}

std::string schedule_in_words(const ScheduleInfo& schedule) {
    return fmt::format(
        "schedule {}: {} '{}' {}, next {}",
        schedule.name,
        schedule.workflow,
        schedule.cron,
        schedule.time_zone,
        schedule.next_fire_at ? rfc3339_seconds(*schedule.next_fire_at) : state_of(schedule)
    );
}

std::string describe(const ScheduleInfo& schedule) {
    return fmt::format(
        "schedule    {}\nworkflow    {}\ncron        {}\ntime zone   {}\nparams      {}\n"
        "state       {}\nnext        {}\nlast        {}\nlast run    {}\nwaiting     {}\n"
        "start       {}\nend         {}\njitter      {}\npriority    {}\noverlap     {}\n"
        "catch-up    {}\ncreated     {}",
        schedule.name,
        schedule.workflow,
        schedule.cron,
        schedule.time_zone,
        printable(schedule.params.text),
        state_of(schedule),
        seconds_or_dash(schedule.next_fire_at),
        seconds_or_dash(schedule.last_fire_at),
        schedule.last_run ? std::to_string(schedule.last_run.value()) : "-",
        seconds_or_dash(schedule.waiting_fire_at),
        seconds_or_dash(schedule.start),
        seconds_or_dash(schedule.end),
        short_duration(schedule.jitter),
        schedule.priority,
        to_string(schedule.overlap),
        schedule.catch_up == CatchUp::all ? fmt::format("all, up to {}", schedule.catch_up_limit)
                                          : std::string(to_string(schedule.catch_up)),
        rfc3339(schedule.created_at)
    );
}

void add_create_schedule(const Command& group) {
    const auto arguments = std::make_shared<CreateArguments>();
    auto& options = arguments->options;
    group.add("create", "Create a schedule, or change an existing one")
        .argument("NAME", arguments->name, "The schedule")
        .argument("WORKFLOW", arguments->workflow, "What it starts runs of")
        .argument("CRON", arguments->cron, "minute hour day month weekday; @daily; '@every 90s'")
        .optional_argument(
            "JSON", arguments->params, "The runs' parameters (default null); - is standard input"
        )
        .option("--time-zone", options.time_zone, "An IANA name (default UTC)")
        .option("--start", options.start, "No fire time before, like 2026-01-31T12:00:00Z")
        .option("--end", options.end, "No fire time after")
        .option("--jitter", options.jitter, "Runs start up to that much later")
        .option("--priority", options.priority, "Of the runs (default 0)")
        .option("--overlap", options.overlap, "While the last run is live (default allow)")
        .option("--catch-up", options.catch_up, "Of missed fire times (default last)")
        .option("--catch-up-limit", options.catch_up_limit, "Of --catch-up all (default 100)")
        .examples(
            "  pawl schedule create nightly report '30 2 * * mon-fri' --time-zone Europe/London\n"
            "  pawl schedule create poll fetch '@every 5m' '{\"url\":\"...\"}' --overlap skip"
        )
        .run([arguments](const Context& context) {
            const Json params = json_input(arguments->params);
            const auto schedule = context.connect().schedule(
                arguments->name, arguments->workflow, arguments->cron, params, arguments->options
            );
            context.answer(to_json(schedule), schedule_in_words(schedule));
            return ExitCode::ok;
        });
}

ExitCode list_schedules(const Context& context) {
    const auto schedules = context.connect().schedules();
    Table table(
        {{"SCHEDULE"},
         {"WORKFLOW"},
         {"CRON"},
         {"TIME ZONE"},
         {"STATE"},
         {"NEXT"},
         {"LAST"},
         {"LAST RUN", Align::right}}
    );
    for (const auto& schedule : schedules) {
        table.add(
            {schedule.name,
             schedule.workflow,
             schedule.cron,
             schedule.time_zone,
             state_of(schedule),
             seconds_or_dash(schedule.next_fire_at),
             seconds_or_dash(schedule.last_fire_at),
             schedule.last_run ? std::to_string(schedule.last_run.value()) : "-"}
        );
    }
    context.answer(json_array_of(schedules), table.text(terminal_width()));
    return ExitCode::ok;
}

ExitCode show_schedule(const Context& context, const std::string& name) {
    const auto schedule = context.connect().get_schedule(name);
    context.answer(to_json(schedule), describe(schedule));
    return ExitCode::ok;
}

ExitCode pause(const Context& context, const std::string& name) {
    const Store store = context.connect();
    store.pause_schedule(name);
    const auto schedule = store.get_schedule(name);
    context.answer(to_json(schedule), schedule_in_words(schedule));
    return ExitCode::ok;
}

ExitCode resume_schedule(const Context& context, const std::string& name) {
    const Store store = context.connect();
    store.resume_schedule(name);
    const auto schedule = store.get_schedule(name);
    context.answer(to_json(schedule), schedule_in_words(schedule));
    return ExitCode::ok;
}

ExitCode run_now(const Context& context, const std::string& name) {
    const auto run = context.connect().run_schedule_now(name);
    context.answer(
        json_object({{"schedule", name}, {"id", run.id().value()}}),
        std::to_string(run.id().value())
    );
    return ExitCode::ok;
}

ExitCode remove_schedule(const Context& context, const std::string& name) {
    context.connect().delete_schedule(name);
    context.answer(
        json_object({{"schedule", name}, {"deleted", true}}),
        fmt::format("schedule {} deleted", name)
    );
    return ExitCode::ok;
}

// Without a name no store is needed: it tells what a cron means.
std::vector<Timestamp> next_times(const Context& context, const NextArguments& arguments) {
    if (arguments.name.has_value() == arguments.cron.has_value())
        throw UsageError("give the NAME of a schedule, or --cron");
    if (arguments.name) {
        const Store store = context.connect();
        const auto schedule = store.get_schedule(*arguments.name);
        const auto after = arguments.after ? *arguments.after : store.now();
        return next_fire_times(schedule, after, arguments.count);
    }
    const auto now = std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
    return next_fire_times(
        *arguments.cron, arguments.time_zone, arguments.after.value_or(now), arguments.count
    );
}

ExitCode next(const Context& context, const NextArguments& arguments) {
    std::vector<std::string> texts;
    std::string lines;
    for (const Timestamp time : next_times(context, arguments)) {
        texts.push_back(rfc3339(time));
        lines += (lines.empty() ? "" : "\n") + rfc3339_seconds(time);
    }
    context.answer(to_json(texts), lines);
    return ExitCode::ok;
}

void add_next(const Command& group) {
    const auto arguments = std::make_shared<NextArguments>();
    group.add("next", "The next fire times of a schedule, or of any cron; in UTC")
        .optional_argument("NAME", arguments->name, "The schedule")
        .option("--cron", arguments->cron, "Instead of a schedule")
        .option("--time-zone", arguments->time_zone, "Of --cron (default UTC)")
        .option("--after", arguments->after, "Instead of now")
        .option("--count", arguments->count, "How many (default 5)")
        .examples(
            "  pawl schedule next nightly --count 10\n"
            "  pawl schedule next --cron '30 2 * * *' --time-zone America/New_York"
        )
        .run([arguments](const Context& context) { return next(context, *arguments); });
}

void add_named(
    const Command& group,
    const std::string& name,
    const std::string& help,
    ExitCode (*action)(const Context&, const std::string&)
) {
    const auto schedule = std::make_shared<std::string>();
    group.add(name, help)
        .argument("NAME", *schedule, "The schedule")
        .examples(fmt::format("  pawl schedule {} nightly", name))
        .run([schedule, action](const Context& context) { return action(context, *schedule); });
}

}  // namespace

void add_schedule_commands(const Command& root) {
    const auto group = root.add("schedule", "Start runs by cron or at intervals");
    add_create_schedule(group);
    group.add("list", "List the schedules with their next fire times").run(list_schedules);
    add_named(group, "show", "Everything about one schedule", show_schedule);
    add_named(group, "pause", "Fire no more until resume", pause);
    add_named(group, "resume", "Go on from now; what was missed is not caught up", resume_schedule);
    add_named(group, "run", "Start one run more, now; prints its id", run_now);
    add_next(group);
    add_named(group, "delete", "Delete a schedule; its runs stay", remove_schedule);
}

}  // namespace pawl::cli
