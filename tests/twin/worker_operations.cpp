// Workers, and operations on the store as a whole.
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

Operation register_worker(Dice& dice, const World& /*seen*/) {
    seam::NewWorker worker{"worker", "host", dice.below(2), 17, some_time(dice), {}, {}};
    if (dice.one_in(2)) worker.subscriptions.push_back("w");
    for (const std::string& name : workflow_names)
        if (dice.one_in(2)) worker.handlers.push_back(name);
    if (dice.one_in(3)) worker.handlers.push_back(dice.of(queue_names));
    return {"register a worker", [=](World& world) {
                world.workers.push_back(world.backend().register_worker(worker));
                return world.show()(world.workers.back());
            }};
}

WorkerId worker_at(const World& world, int index) {
    const WorkerId* worker = at(world.workers, index);
    return worker == nullptr || index < 0 ? WorkerId(987'654'321) : *worker;
}

int any_worker(Dice& dice, const World& seen) {
    return dice.one_in(30) ? -1 : dice.index(seen.workers.size());
}

Operation transition(Dice& dice, const World& seen) {
    const int index = any_worker(dice, seen);
    const auto event = static_cast<WorkerEvent>(dice.below(6));
    return {
        fmt::format("worker {}: {}", index, to_string(event)), [=](World& world) {
            return world.show()(world.backend().transition_worker(worker_at(world, index), event));
        }};
}

Operation heartbeat(Dice& dice, const World& seen) {
    const int index = any_worker(dice, seen);
    const Duration lease = some_time(dice);
    const bool anonymous = dice.one_in(8);
    return {fmt::format("heartbeat of worker {} with all it holds", index), [=](World& world) {
                std::vector<Write> extensions;
                const auto extend = [&](const auto& all) {
                    for (const auto& held : all)
                        extensions.push_back({held.message.lease(), seam::Extend{lease}});
                };
                extend(world.messages);
                extend(world.runs);
                for (const HeldTask& held : world.tasks)
                    extensions.push_back(extend_write(held, lease));
                return world.show()(world.backend().heartbeat(
                    anonymous ? WorkerId() : worker_at(world, index), extensions
                ));
            }};
}

Operation delete_worker(Dice& dice, const World& seen) {
    const int index = any_worker(dice, seen);
    return {fmt::format("delete worker {}", index), [=](World& world) {
                world.store().delete_worker(worker_at(world, index));
                return std::string("done");
            }};
}

Operation purge_workers(Dice& dice, const World& /*seen*/) {
    const Duration age = any_delay(dice);
    return {"purge workers", [=](World& world) {
                return world.show()(world.store().purge_workers(age));
            }};
}

Operation held_messages(Dice& dice, const World& seen) {
    const int index = any_worker(dice, seen);
    return {fmt::format("what worker {} holds", index), [=](World& world) {
                return world.show()(world.store().held_messages(worker_at(world, index)));
            }};
}

Operation fail_unhandled(Dice& dice, const World& /*seen*/) {
    std::vector<std::string> prefixes{dice.one_in(3) ? "" : dice.one_in(2) ? "w" : "wa"};
    return {"fail unhandled below '" + prefixes.front() + "'", [=](World& world) {
                auto runs = world.backend().fail_unhandled(prefixes);
                std::ranges::sort(runs);
                return world.show()(runs);
            }};
}

// Nothing is lost here: both find nothing.
Operation repair(Dice& /*dice*/, const World& /*seen*/) {
    return {"repair", [](World& world) {
                const auto lost = world.store().find_lost_work();
                return world.show()(lost) + world.show()(world.store().repair());
            }};
}

Operation restored(Dice& dice, const World& /*seen*/) {
    if (!dice.one_in(4)) return {};
    return {"restored", [](World& world) { return world.show()(world.store().restored()); }};
}

}  // namespace

const std::vector<OperationKind>& worker_operations() {
    static const std::vector<OperationKind> all{
        {3, register_worker},
        {4, transition},
        {4, heartbeat},
        {1, delete_worker},
        {1, purge_workers},
        {1, held_messages},
        {2, fail_unhandled},
        {1, repair},
        {1, restored},
    };
    return all;
}

}  // namespace pawl::test::twin
