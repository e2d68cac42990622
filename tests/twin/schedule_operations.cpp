// Schedules, and the clock.
#include "runtime/services/scheduler.h"
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

const std::vector<std::string> schedule_names{"sa", "sb"};

std::string any_schedule(Dice& dice) {
    return dice.one_in(15) ? "none" : dice.of(schedule_names);
}

Operation make_schedule(Dice& dice, const World& seen) {
    static const std::vector<std::string> crons{
        "* * * * *",
        "*/5 * * * *",
        "0 3 * * mon",
        "@hourly",
        "@every 90s",
        "@every 7m",
        "61 * * * *"};
    const std::string name = dice.one_in(40) ? "bad name" : dice.of(schedule_names);
    const std::string workflow = dice.one_in(6) ? any_flow(dice) : any_workflow(dice);
    const std::string cron = dice.of(crons);
    const Json params = any_json(dice);
    ScheduleOptions options;
    options.time_zone = sometimes(dice, 5, [&] { return std::string("Asia/Kolkata"); });
    options.start = sometimes(dice, 8, [&] { return seen.now() + some_time(dice); });
    options.end = sometimes(dice, 8, [&] { return seen.now() + 10 * some_time(dice); });
    options.jitter = sometimes(dice, 5, [&] { return some_time(dice); });
    options.priority = sometimes(dice, 5, [&] { return dice.below(3); });
    options.overlap = sometimes(dice, 2, [&] { return static_cast<Overlap>(dice.below(3)); });
    options.catch_up = sometimes(dice, 2, [&] { return static_cast<CatchUp>(dice.below(3)); });
    options.catch_up_limit = sometimes(dice, 4, [&] { return dice.between(1, 3); });
    return {fmt::format("schedule {} of {}: {}", name, workflow, cron), [=](World& world) {
                return world.show(
                )(world.store().create_schedule(name, workflow, cron, params, options));
            }};
}

Operation change_schedule(Dice& dice, const World& /*seen*/) {
    const std::string name = any_schedule(dice);
    static const std::vector<std::string> kinds{"pause", "resume", "run now", "delete"};
    const int what = dice.below(dice.one_in(4) ? 4 : 3);
    return {kinds[static_cast<std::size_t>(what)] + " schedule " + name, [=](World& world) {
                const Store& store = world.store();
                if (what == 0) store.pause_schedule(name);
                if (what == 1) store.resume_schedule(name);
                if (what == 3) store.delete_schedule(name);
                if (what != 2) return std::string("done");
                const Run run = store.run_schedule_now(name);
                world.know(run.id());
                return world.show()(run);
            }};
}

// A complete check of a scheduler.
Operation look(Dice& /*dice*/, const World& /*seen*/) {
    return {"scheduler looks", [](World& world) {
                const Duration again = runtime::Scheduler(world.backend()).fire_due();
                for (const RunInfo& run : world.store().runs({}, {.limit = 20})) world.know(run.id);
                return world.show()(again);
            }};
}

Operation read_due(Dice& dice, const World& /*seen*/) {
    const int limit = dice.between(1, 3);
    return {"read due schedules", [=](World& world) {
                const auto due = world.backend().due_schedules(limit);
                world.due = due.due;
                return world.show()(due);
            }};
}

// One fire by a direct call, maybe for an old version.
Operation fire(Dice& dice, const World& seen) {
    if (seen.due.empty()) return {};
    const int index = dice.index(seen.due.size());
    const Duration next = some_time(dice);
    const int runs = dice.below(3);
    return {fmt::format("fire due schedule {} with {} runs", index, runs), [=](World& world) {
                const seam::StoredSchedule* due = at(world.due, index);
                if (due == nullptr || !due->info.next_fire_at) return nothing_there;
                seam::ScheduleFire fire{due->id, due->version, {}, world.now() + next};
                for (int i = 0; i < runs; ++i) {
                    seam::ScheduleFire::Run run{*due->info.next_fire_at + i * 1ms, {}};
                    run.run.workflow = due->info.workflow;
                    run.run.input = due->info.params;
                    run.run.options.idempotency_key = fmt::format("fire{}", i);
                    run.run.options.at = run.fire_at;
                    fire.runs.push_back(std::move(run));
                }
                return world.show()(world.backend().fire_schedule(fire));
            }};
}

Operation advance(Dice& dice, const World& /*seen*/) {
    static const std::vector<Duration> times{
        1ms, 1s, 5s, 5s, 31s, 31s, 61s, 61s, 10min, 2h, std::chrono::hours(24 * 8)};
    const Duration by = dice.of(times);
    return {fmt::format("{} ms pass", by.count()), [=](World& world) {
                world.advance(by);
                return world.show()(world.store().now());
            }};
}

}  // namespace

const std::vector<OperationKind>& schedule_operations() {
    static const std::vector<OperationKind> all{
        {3, make_schedule},
        {4, change_schedule},
        {5, look},
        {3, read_due},
        {2, fire},
        {22, advance},
    };
    return all;
}

}  // namespace pawl::test::twin
