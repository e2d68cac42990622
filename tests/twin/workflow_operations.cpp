// Definitions of workflows, and their triggers.
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

WorkflowOptions workflow_options(Dice& dice) {
    WorkflowOptions options;
    options.max_attempts = sometimes(dice, 4, [&] { return dice.between(1, 3); });
    options.backoff_base = sometimes(dice, 6, [&] { return some_time(dice); });
    options.lease = sometimes(dice, 4, [&] { return some_time(dice); });
    options.run_timeout = sometimes(dice, 5, [&] { return dice.one_in(3) ? 0s : 1h; });
    options.max_strikes = sometimes(dice, 3, [&] { return dice.between(1, 3); });
    options.dead_letter_workflow =
        sometimes(dice, 3, [&] { return dice.one_in(4) ? std::string() : any_workflow(dice); });
    options.audit = sometimes(dice, 2, [&] { return static_cast<AuditLevel>(dice.below(3)); });
    options.publish = sometimes(dice, 2, [&] { return static_cast<PublishLevel>(dice.below(3)); });
    if (dice.one_in(40)) options.max_attempts = 0;
    return options;
}

Operation create_workflow(Dice& dice, const World& /*seen*/) {
    const std::string name = dice.one_in(8) ? any_flow(dice) : any_workflow(dice);
    WorkflowOptions options = workflow_options(dice);
    if (name == "fa" || name == "fb") {
        options = {
            .dead_letter_workflow = options.dead_letter_workflow,
            .audit = options.audit,
            .publish = options.publish};
    }
    return {"create workflow " + name, [=](World& world) {
                return world.show()(world.store().create_workflow(name, options));
            }};
}

Operation delete_workflow(Dice& dice, const World& /*seen*/) {
    const std::string name = any_workflow(dice);
    return {"delete workflow " + name, [=](World& world) {
                world.store().delete_workflow(name);
                return std::string("done");
            }};
}

struct DrawnRun {
    NewRun run;
    int parent = -1;  // index of a known run
};

DrawnRun new_run(Dice& dice, const World& seen) {
    DrawnRun drawn{{any_workflow(dice), any_json(dice), {}}};
    if (dice.one_in(5)) drawn.run = {any_flow(dice), any_json(dice), {}, dice.one_in(2)};
    TriggerOptions& options = drawn.run.options;
    options.priority = dice.one_in(3) ? dice.between(-1, 2) : 0;
    options.delay = dice.one_in(4) ? any_delay(dice) : Duration(0);
    if (dice.one_in(10)) options.at = seen.now() + some_time(dice) - 10s;
    if (dice.one_in(4)) options.idempotency_key = dice.one_in(2) ? "k1" : "k2";
    if (dice.one_in(5)) options.max_attempts = dice.between(1, 3);
    while (dice.one_in(4)) options.tags.push_back(dice.one_in(2) ? "red" : "blue");
    if (dice.one_in(6)) drawn.parent = dice.index(seen.known_runs.size());
    return drawn;
}

struct Triggering {
    std::vector<DrawnRun> drawn;

    [[nodiscard]] std::vector<NewRun> runs(const World& world) const {
        std::vector<NewRun> all;
        for (const DrawnRun& one : drawn) {
            all.push_back(one.run);
            if (one.parent >= 0 && !world.known_runs.empty())
                all.back().options.parent = *at(world.known_runs, one.parent);
        }
        return all;
    }
    [[nodiscard]] std::string described() const {
        std::string all;
        for (const DrawnRun& one : drawn) {
            const TriggerOptions& options = one.run.options;
            all += fmt::format(
                " {}{} {} priority {} delay {}{}{};",
                one.run.workflow,
                one.run.flow ? " (flow)" : "",
                one.run.input.text,
                options.priority,
                options.delay.count(),
                options.at ? " at a time" : "",
                options.idempotency_key ? " key " + *options.idempotency_key : ""
            );
        }
        return all;
    }
};

Triggering triggering(Dice& dice, const World& seen) {
    Triggering all;
    for (int i = dice.one_in(3) ? dice.between(2, 4) : 1; i > 0; --i)
        all.drawn.push_back(new_run(dice, seen));
    return all;
}

std::string triggered(World& world, const std::vector<Run>& runs) {
    for (const Run& run : runs) world.know(run.id());
    return world.show()(runs);
}

Operation trigger(Dice& dice, const World& seen) {
    const Triggering all = triggering(dice, seen);
    return {"trigger" + all.described(), [=](World& world) {
                return triggered(world, world.store().trigger(all.runs(world)));
            }};
}

Operation trigger_in(Dice& dice, const World& seen) {
    const Triggering all = triggering(dice, seen);
    const bool commits = !dice.one_in(3);
    return {
        fmt::format(
            "trigger in a transaction, {}{}", commits ? "commit" : "rollback", all.described()
        ),
        [=](World& world) {
            world.database().begin();
            try {
                const auto runs =
                    world.store().trigger_in(world.database().transaction(), all.runs(world));
                world.database().run(commits ? "commit" : "rollback");
                return commits ? triggered(world, runs) : std::string("rolled back");
            } catch (...) {
                world.database().run("rollback");
                throw;
            }
        }};
}

}  // namespace

const std::vector<OperationKind>& workflow_operations() {
    static const std::vector<OperationKind> all{
        {4, create_workflow},
        {1, delete_workflow},
        {18, trigger},
        {3, trigger_in},
    };
    return all;
}

}  // namespace pawl::test::twin
