#include "twin/dump.h"

#include "twin/choices.h"

namespace pawl::test::twin {

std::string answer(World& world, const std::function<std::string(World&)>& call) {
    try {
        return call(world);
    } catch (const Error& error) {
        std::string text = world.show().ids().text(error.what());
        // It quotes JSON patterns, which PostgreSQL formats with blanks.
        if (error.code() == ErrorCode::flow_mismatch) std::erase(text, ' ');
        return fmt::format(
            "error {}{}{}: {}",
            to_string(error.code()),
            error.retryable() ? ", retryable" : "",
            error.in_doubt() ? ", in doubt" : "",
            text
        );
    } catch (const std::exception& error) {
        return fmt::format("exception: {}", error.what());
    }
}

namespace {

std::string dump_queue(World& world, const QueueInfo& info) {
    const Queue queue = world.store().queue(info.name);
    const PageRequest page{.limit = 1000};
    std::string all = world.show()(info) + "\n" + world.show()(queue.stats()) + "\n";
    for (const MessageState state :
         {MessageState::ready, MessageState::waiting, MessageState::leased})
        all += world.show()(queue.list(state, page)) + "\n";
    return all + world.show()(queue.archived(ArchiveFilter::all, page)) + "\n";
}

std::string dump_workflow(World& world, const WorkflowInfo& info) {
    std::string all = world.show()(info) + "\n";
    all += world.show()(world.store().workflow_metrics(info.name, 1h)) + "\n";
    all += world.show()(world.backend().has_live_handler(info.name)) + "\n";
    if (info.is_flow) all += to_json(world.store().flow_shape(info.name)).text + "\n";
    return all;
}

std::string dump_run(World& world, RunId run) {
    const Store& store = world.store();
    const Show show = world.show();
    std::string all = show(store.run(run).info()) + "\n";
    all += show(world.backend().find_end(run)) + "\n";
    all += show(store.run(run).steps()) + "\n" + show(world.backend().recorded_steps(run)) + "\n";
    all += show(store.run(run).tasks()) + "\n" + show(store.run(run).events()) + "\n";
    all += show(store.run(run).history()) + "\n";
    all += "lineage";
    for (const RunInfo& one : store.run(run).lineage()) all += " " + show(one.id);
    return all + "\n";
}

std::string dump_rest(World& world) {
    const Store& store = world.store();
    const Show show = world.show();
    std::string all = show(store.schedules()) + "\n" + show(world.backend().schedules({})) + "\n";
    all += show(store.outbox({.limit = 1000})) + "\n" + show(store.retention()) + "\n";
    all += show(store.workers()) + "\n" + show(store.stats()) + "\n";
    all += show(store.queue_stats()) + "\n" + show(store.count_runs()) + "\n";
    all += show(store.count_runs({.include_deleted = true})) + "\n";
    all += show(world.backend().backlog(queue_names)) + "\n";
    return all;
}

}  // namespace

std::string dump(World& world) {
    std::string all;
    const auto add = [&](const std::function<std::string(World&)>& call) {
        all += answer(world, call) + "\n";
    };
    add([](World& w) {
        std::string runs;
        for (const RunInfo& run : w.store().runs({.include_deleted = true}, {.limit = 1000})) {
            w.know(run.id);
            runs += w.show()(run.id) + " ";
        }
        return "runs " + runs;
    });
    add([](World& w) {
        std::string queues;
        for (const QueueInfo& info : w.store().queues()) queues += dump_queue(w, info);
        return queues;
    });
    add([](World& w) {
        std::string workflows;
        for (const WorkflowInfo& info : w.store().workflows()) workflows += dump_workflow(w, info);
        return workflows;
    });
    const std::vector<RunId> runs = world.known_runs;
    for (const RunId run : runs) add([run](World& w) { return dump_run(w, run); });
    add(dump_rest);
    return all;
}

}  // namespace pawl::test::twin
