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

std::string state_of(const ScheduleInfo& schedule) {
    if (schedule.paused) return "paused";
    if (schedule.waiting_fire_at) return "waiting";
    return schedule.next_fire_at ? "active" : "ended";
}

std::string schedule_in_words(const View& view, const ScheduleInfo& schedule) {
    return fmt::format(
        "schedule {}: {} '{}' {}, next {}",
        schedule.name,
        schedule.workflow,
        schedule.cron,
        schedule.time_zone,
        schedule.next_fire_at ? view.seconds(*schedule.next_fire_at) : state_of(schedule)
    );
}

std::string describe(const View& view, const ScheduleInfo& schedule) {
    return fmt::format(
        "schedule    {}\nworkflow    {}\ncron        {}\ntime zone   {}\nparams      {}\n"
        "state       {}\nnext        {}\nlast        {}\nlast run    {}\nwaiting     {}\n"
        "start       {}\nend         {}\njitter      {}\npriority    {}\noverlap     {}\n"
        "catch-up    {}\ncreated     {}",
        schedule.name,
        schedule.workflow,
        schedule.cron,
        schedule.time_zone,
        printable(view.value(schedule.params.text)),
        state_of(schedule),
        view.seconds_or_dash(schedule.next_fire_at),
        view.seconds_or_dash(schedule.last_fire_at),
        schedule.last_run ? std::to_string(schedule.last_run.value()) : "-",
        view.seconds_or_dash(schedule.waiting_fire_at),
        view.seconds_or_dash(schedule.start),
        view.seconds_or_dash(schedule.end),
        short_duration(schedule.jitter),
        schedule.priority,
        to_string(schedule.overlap),
        schedule.catch_up == CatchUp::all ? fmt::format("all, up to {}", schedule.catch_up_limit)
                                          : std::string(to_string(schedule.catch_up)),
        view.time(schedule.created_at)
    );
}

void add_create_schedule(const Command& group) {
    const auto arguments = std::make_shared<CreateArguments>();
    auto& options = arguments->options;
    group.add("create", "Create a schedule, or change an existing one")
        .argument("NAME", arguments->name, "The schedule")
        .argument("WORKFLOW", arguments->workflow, "The workflow or flow to start")
        .argument(
            "CRON", arguments->cron, "'minute hour day month weekday', @daily, or '@every 90s'"
        )
        .optional_argument(
            "JSON",
            arguments->params,
            "The parameters of the runs (default null); - is standard input"
        )
        .option(
            "--time-zone",
            options.time_zone,
            "The time zone of the cron, an IANA name (default UTC)"
        )
        .time_option("--start", options.start, Bare::from_now, "Do not fire before this time")
        .time_option("--end", options.end, Bare::from_now, "Do not fire after this time")
        .option("--jitter", options.jitter, "Delay each run by a random time up to this")
        .option("--priority", options.priority, "The priority of the runs (default 0)")
        .option(
            "--overlap",
            options.overlap,
            "What to do while the last run has not ended (default allow)"
        )
        .option(
            "--catch-up", options.catch_up, "Which missed fire times to fire later (default last)"
        )
        .option(
            "--catch-up-limit", options.catch_up_limit, "The limit of --catch-up all (default 100)"
        )
        .examples(
            "  pawl schedule create nightly report '30 2 * * mon-fri' --time-zone Europe/London\n"
            "  pawl schedule create poll fetch '@every 5m' '{\"url\":\"...\"}' --overlap skip"
        )
        .run([arguments](const Context& context) {
            const Json params = json_input(arguments->params);
            const auto schedule = context.connect().create_schedule(
                arguments->name, arguments->workflow, arguments->cron, params, arguments->options
            );
            context.answer(to_json(schedule), schedule_in_words(context.view(), schedule));
            return ExitCode::ok;
        });
}

ExitCode list_schedules(const Context& context) {
    const auto schedules = context.connect().schedules();
    const auto view = context.view();
    Table table(
        {Column{"SCHEDULE"}.cut_to(12),
         Column{"WORKFLOW"}.cut_to(12),
         Column{"CRON"}.cut_to(11),
         Column{"TIME ZONE"}.left_out(2),
         Column{"STATE"}.status(),
         {"NEXT"},
         Column{"LAST"}.left_out(1),
         Column{"LAST RUN", Align::right}.left_out(3)}
    );
    for (const auto& schedule : schedules) {
        table.add(
            {schedule.name,
             schedule.workflow,
             schedule.cron,
             schedule.time_zone,
             state_of(schedule),
             view.seconds_or_dash(schedule.next_fire_at),
             view.seconds_or_dash(schedule.last_fire_at),
             schedule.last_run ? std::to_string(schedule.last_run.value()) : "-"}
        );
    }
    context.answer(json_array_of(schedules), table.text(view));
    return ExitCode::ok;
}

ExitCode show_schedule(const Context& context, const std::string& name) {
    const auto schedule = context.connect().schedule_info(name);
    context.answer(to_json(schedule), describe(context.view(), schedule));
    return ExitCode::ok;
}

ExitCode pause(const Context& context, const std::string& name) {
    const Store store = context.connect();
    store.pause_schedule(name);
    const auto schedule = store.schedule_info(name);
    context.answer(to_json(schedule), schedule_in_words(context.view(), schedule));
    return ExitCode::ok;
}

ExitCode resume_schedule(const Context& context, const std::string& name) {
    const Store store = context.connect();
    store.resume_schedule(name);
    const auto schedule = store.schedule_info(name);
    context.answer(to_json(schedule), schedule_in_words(context.view(), schedule));
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

// With --cron no store is needed.
std::vector<Timestamp> next_times(const Context& context, const NextArguments& arguments) {
    if (arguments.name.has_value() == arguments.cron.has_value())
        throw UsageError("give the NAME of a schedule, or --cron");
    if (arguments.name) {
        const Store store = context.connect();
        const auto schedule = store.schedule_info(*arguments.name);
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
        lines += (lines.empty() ? "" : "\n") + context.view().seconds(time);
    }
    context.answer(to_json(texts), lines);
    return ExitCode::ok;
}

void add_next(const Command& group) {
    const auto arguments = std::make_shared<NextArguments>();
    group.add("next", "Show the next fire times of a schedule, or of any cron expression")
        .optional_argument("NAME", arguments->name, "The schedule")
        .option(
            "--cron", arguments->cron, "A cron expression instead of a schedule; needs no store"
        )
        .option("--time-zone", arguments->time_zone, "The time zone of --cron (default UTC)")
        .time_option(
            "--after", arguments->after, Bare::from_now, "Start at this time (default now)"
        )
        .option("--count", arguments->count, "Show this many (default 5)")
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
    const auto group = root.add("schedule", "Start runs by cron expressions or at intervals");
    group.examples(
        "  pawl schedule create nightly report '30 2 * * *' --time-zone Europe/London\n"
        "  pawl schedule list\n"
        "  pawl schedule pause nightly"
    );
    add_create_schedule(group);
    group.add("list", "List the schedules with their next fire times")
        .examples("  pawl schedule list")
        .run(list_schedules);
    add_named(group, "show", "Show everything about one schedule", show_schedule);
    add_named(group, "pause", "Do not fire until the schedule is resumed", pause);
    add_named(
        group,
        "resume",
        "Fire again from now on; missed fire times are not caught up",
        resume_schedule
    );
    add_named(group, "run", "Start an additional run now and print its id", run_now);
    add_next(group);
    add_named(group, "delete", "Delete a schedule; its runs stay", remove_schedule);
}

}  // namespace pawl::cli
