// Lists and reports, in the middle of the operations.
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

RunFilter any_filter(Dice& dice, const World& seen) {
    RunFilter filter;
    filter.workflow =
        sometimes(dice, 3, [&] { return dice.one_in(4) ? any_flow(dice) : any_workflow(dice); });
    filter.status = sometimes(dice, 3, [&] { return static_cast<RunStatus>(dice.below(6)); });
    filter.created_from = sometimes(dice, 6, [&] { return seen.now() - some_time(dice); });
    filter.created_before = sometimes(dice, 6, [&] { return seen.now() - some_time(dice); });
    filter.tag = sometimes(dice, 5, [&] { return std::string(dice.one_in(2) ? "red" : "blue"); });
    filter.idempotency_key = sometimes(dice, 6, [&] { return std::string("k1"); });
    filter.include_deleted = dice.one_in(3);
    return filter;
}

Operation list_runs(Dice& dice, const World& seen) {
    const RunFilter filter = any_filter(dice, seen);
    const int limit = dice.between(1, 10);
    const int before = dice.one_in(3) ? dice.index(seen.known_runs.size()) : -1;
    return {"list runs", [=](World& world) {
                RunPage page{.limit = limit};
                if (before >= 0 && !world.known_runs.empty())
                    page.before = *at(world.known_runs, before);
                return world.show()(world.store().runs(filter, page));
            }};
}

Operation count_runs(Dice& dice, const World& seen) {
    const RunFilter filter = any_filter(dice, seen);
    const std::int64_t limit = dice.one_in(3) ? dice.between(1, 3) : 10'000;
    return {fmt::format("count runs up to {}", limit), [=](World& world) {
                return world.show()(world.store().count_runs(filter, limit));
            }};
}

Operation metrics(Dice& dice, const World& /*seen*/) {
    const std::string name = dice.one_in(4) ? any_flow(dice) : any_workflow(dice);
    const Duration window = some_time(dice);
    return {"metrics of " + name, [=](World& world) {
                return world.show()(world.store().workflow_metrics(name, window));
            }};
}

Operation list_messages(Dice& dice, const World& seen) {
    const std::string name = any_queue(dice);
    const auto state = static_cast<MessageState>(dice.below(3));
    const int limit = dice.between(1, 4);
    const int after = dice.one_in(2) ? dice.index(seen.known_messages.size()) : -1;
    return {fmt::format("list {} of {}", to_string(state), name), [=](World& world) {
                PageRequest page{.limit = limit};
                if (after >= 0 && !world.known_messages.empty())
                    page.after = *at(world.known_messages, after);
                const Queue queue = world.store().queue(name);
                return world.show()(queue.list(state, page)) +
                       world.show()(queue.archived(ArchiveFilter::all, page)) +
                       world.show()(queue.find(page.after));
            }};
}

// For a run that has ended: its result, or the error that a waiter gets.
Operation output(Dice& dice, const World& seen) {
    const int index = dice.index(seen.known_runs.size());
    return {fmt::format("output of run {}", index), [=](World& world) {
                const RunId* run = at(world.known_runs, index);
                if (run == nullptr) return nothing_there;
                return world.show()(world.store().run(*run).wait_json(Duration::zero()));
            }};
}

Operation backlog(Dice& dice, const World& /*seen*/) {
    const std::vector<std::string> names{any_queue(dice), any_workflow(dice), any_flow(dice)};
    return {"backlog", [=](World& world) { return world.show()(world.backend().backlog(names)); }};
}

}  // namespace

const std::vector<OperationKind>& report_operations() {
    static const std::vector<OperationKind> all{
        {3, list_runs},
        {2, count_runs},
        {2, metrics},
        {2, list_messages},
        {3, output},
        {1, backlog},
    };
    return all;
}

}  // namespace pawl::test::twin
