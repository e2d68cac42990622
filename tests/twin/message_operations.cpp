// Messages of plain queues: dequeue, claim, settle.
#include "twin/choices.h"
#include "twin/operation.h"
#include "twin/writes.h"

namespace pawl::test::twin {

namespace {

Operation dequeue(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    DequeueOptions options;
    options.max_messages = dice.one_in(60) ? 0 : dice.between(1, 5);
    options.lease = sometimes(dice, 4, [&] { return some_time(dice); });
    return {fmt::format("dequeue {} of {}", options.max_messages, name), [=](World& world) {
                DequeueOptions request = options;
                request.max_messages = world.claimable({name}, options.max_messages);
                const auto messages = world.store().queue(name).dequeue(request);
                for (const Message& message : messages) {
                    world.know(message.id);
                    world.messages.push_back({message, name});
                }
                return world.show()(messages);
            }};
}

// A claim over several queues, like a worker.
Operation claim(Dice& dice, const World& seen) {
    std::vector<std::string> names{dice.of(queue_names)};
    while (names.size() < 3 && dice.one_in(2)) names.push_back(dice.of(queue_names));
    const int count = dice.between(1, 4);
    const int worker = dice.one_in(3) ? -1 : dice.index(seen.workers.size());
    const int after = dice.below(4) - 1;
    return {
        fmt::format(
            "claim {} of {}, worker {}, after {}", count, fmt::join(names, " "), worker, after
        ),
        [=](World& world) {
            seam::ClaimRequest request;
            for (const std::string& name : names) {
                const QueueId id = world.queue_id(name);
                if (id && std::ranges::find(request.queues, id) == request.queues.end())
                    request.queues.push_back(id);
            }
            if (request.queues.empty()) return nothing_there;
            if (worker >= 0 && !world.workers.empty()) request.worker = *at(world.workers, worker);
            if (after >= 0) request.after = *at(request.queues, after);
            request.max_messages = world.claimable(names, count);
            const seam::Claim claimed = world.backend().claim(request);
            for (std::size_t i = 0; i < claimed.messages.size(); ++i) {
                world.know(claimed.messages[i].id);
                const auto place = std::ranges::find(request.queues, claimed.queues[i]);
                std::string name;
                for (const std::string& one : names)
                    if (world.queue_id(one) == *place) name = one;
                world.messages.push_back({claimed.messages[i], name});
            }
            return world.show().claim(claimed, request.max_messages);
        }};
}

enum class Settling { archive, remove, release, extend, fail };

struct Settle {
    Settling how;
    Duration time;
    std::string why;

    std::vector<Outcome> operator()(const Queue& queue, const std::vector<Lease>& leases) const {
        switch (how) {
            case Settling::archive:
                return queue.archive(leases);
            case Settling::remove:
                return queue.remove(leases);
            case Settling::release:
                return queue.release(leases, time);
            case Settling::extend:
                return queue.extend(leases, time);
            case Settling::fail:
                return queue.fail(leases, why, time);
        }
        return {};
    }
    Outcome operator()(const Queue& queue, const Message& message) const {
        switch (how) {
            case Settling::archive:
                return queue.archive(message);
            case Settling::remove:
                return queue.remove(message);
            case Settling::release:
                return queue.release(message, time);
            case Settling::extend:
                return queue.extend(message, time);
            case Settling::fail:
                return queue.fail(message, why, time);
        }
        return {};
    }
};

Settle settling(Dice& dice) {
    return {static_cast<Settling>(dice.below(5)), any_delay(dice), reason(dice)};
}

void forget(World& world, int index) {
    world.messages.erase(world.messages.begin() + index % static_cast<int>(world.messages.size()));
}

Operation settle_one(Dice& dice, const World& seen) {
    if (seen.messages.empty()) return {};
    const Settle settle = settling(dice);
    const int index = dice.index(seen.messages.size());
    const std::string other = dice.one_in(10) ? any_queue(dice) : std::string();
    const bool forgets = !dice.one_in(4);
    return {
        fmt::format("settle held {} as {} {}", index, static_cast<int>(settle.how), other),
        [=](World& world) {
            if (world.messages.empty()) return nothing_there;
            const HeldMessage held = *at(world.messages, index);
            if (forgets) forget(world, index);
            const Queue queue = world.store().queue(other.empty() ? held.queue : other);
            return world.show()(settle(queue, held.message));
        }};
}

// A message of a run or a task, settled like a plain one.
Operation settle_other(Dice& dice, const World& seen) {
    const Settle settle = settling(dice);
    const bool is_task = dice.one_in(2);
    const std::string name = is_task ? dice.of(flow_names) : dice.of(workflow_names);
    const int index = dice.index(is_task ? seen.tasks.size() : seen.runs.size());
    return {
        fmt::format(
            "settle held {} {} of {} as {}",
            is_task ? "task" : "run",
            index,
            name,
            static_cast<int>(settle.how)
        ),
        [=](World& world) {
            const Queue queue = world.store().queue(name);
            if (is_task ? world.tasks.empty() : world.runs.empty()) return nothing_there;
            const Message& message =
                is_task ? at(world.tasks, index)->message : at(world.runs, index)->message;
            return world.show()(settle(queue, std::vector{message.lease()}));
        }};
}

Operation settle_many(Dice& dice, const World& seen) {
    if (seen.messages.empty()) return {};
    const Settle settle = settling(dice);
    const std::string name = any_queue(dice);
    return {
        fmt::format("settle all held as {} in {}", static_cast<int>(settle.how), name),
        [=](World& world) {
            std::vector<Lease> leases;
            for (const HeldMessage& held : world.messages) leases.push_back(held.message.lease());
            return world.show()(settle(world.store().queue(name), leases));
        }};
}

Operation commit(Dice& dice, const World& seen) {
    if (seen.messages.empty()) return {};
    std::vector<DrawnWrite<Message>> writes;
    std::string name;
    const int first = dice.index(seen.messages.size());
    for (int i = dice.between(1, 3); i > 0; --i) {
        writes.push_back(message_write(dice));
        name += " " + writes.back().name + ";";
    }
    const bool repeated = dice.one_in(6);
    const bool forgets = dice.one_in(2);
    return {
        fmt::format("commit{} of held {}:{}", repeated ? " twice" : "", first, name),
        [=](World& world) {
            std::vector<Write> all;
            for (std::size_t i = 0; i < std::min(writes.size(), world.messages.size()); ++i) {
                const Message& message = at(world.messages, first + static_cast<int>(i))->message;
                all.push_back(writes[i].make(message));
            }
            if (forgets && !world.messages.empty()) forget(world, first);
            return committed(world, std::move(all), repeated);
        }};
}

}  // namespace

const std::vector<OperationKind>& message_operations() {
    static const std::vector<OperationKind> all{
        {10, dequeue},
        {6, claim},
        {6, settle_one},
        {2, settle_other},
        {2, settle_many},
        {9, commit},
    };
    return all;
}

}  // namespace pawl::test::twin
