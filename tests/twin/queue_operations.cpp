// Definitions and administration of queues, and enqueues.
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

QueueOptions queue_options(Dice& dice) {
    QueueOptions options;
    options.keep_archive = sometimes(dice, 4, [&] { return !dice.one_in(3); });
    options.lease = sometimes(dice, 4, [&] { return some_time(dice); });
    options.max_strikes = sometimes(dice, 3, [&] { return dice.between(1, 3); });
    options.max_attempts = sometimes(dice, 3, [&] { return dice.between(0, 2); });
    options.dead_letter_queue =
        sometimes(dice, 5, [&] { return dice.one_in(4) ? std::string() : any_queue(dice); });
    if (dice.one_in(40)) options.max_strikes = 0;
    return options;
}

Operation create_queue(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    const QueueOptions options = queue_options(dice);
    return {"create queue " + name, [=](World& world) {
                return world.show()(world.store().create_queue(name, options).info());
            }};
}

Operation delete_queue(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    const DeleteMode mode = dice.one_in(3) ? DeleteMode::force : DeleteMode::if_empty;
    return {
        fmt::format("delete queue {}{}", name, mode == DeleteMode::force ? ", force" : ""),
        [=](World& world) {
            world.store().delete_queue(name, mode);
            return std::string("done");
        }};
}

Operation set_paused(Dice& dice, const World& /*seen*/) {
    const std::string name = dice.one_in(3)   ? any_workflow(dice)
                             : dice.one_in(4) ? any_flow(dice)
                                              : any_queue(dice);
    const bool pauses = dice.one_in(3);
    return {(pauses ? "pause " : "resume ") + name, [=](World& world) {
                const Queue queue = world.store().queue(name);
                pauses ? queue.pause() : queue.resume();
                return std::string("done");
            }};
}

Operation purge(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    return {"purge " + name, [=](World& world) {
                return world.show()(world.store().queue(name).purge());
            }};
}

Operation purge_archive(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    const auto filter = static_cast<ArchiveFilter>(dice.below(3));
    return {
        fmt::format("purge archive of {}, filter {}", name, static_cast<int>(filter)),
        [=](World& world) {
            return world.show()(world.store().queue(name).purge_archive(filter));
        }};
}

Operation replay(Dice& dice, const World& seen) {
    const std::string name = any_queue(dice);
    const int index = dice.index(seen.known_messages.size());
    return {fmt::format("replay message {} of {}", index, name), [=](World& world) {
                const MessageId* message = at(world.known_messages, index);
                if (message == nullptr) return nothing_there;
                world.store().queue(name).replay(*message);
                return std::string("done");
            }};
}

Operation replay_dead(Dice& dice, const World& /*seen*/) {
    const std::string name = any_queue(dice);
    return {"replay dead letters of " + name, [=](World& world) {
                return world.show()(world.store().queue(name).replay_dead());
            }};
}

std::vector<NewMessage> new_messages(Dice& dice, const World& seen) {
    std::vector<NewMessage> messages;
    for (int i = dice.between(1, 4); i > 0; --i) {
        NewMessage message{any_json(dice), {}};
        message.options.priority = dice.one_in(3) ? dice.between(-1, 2) : 0;
        message.options.delay = dice.one_in(4) ? any_delay(dice) : Duration(0);
        if (dice.one_in(10)) message.options.at = seen.now() + some_time(dice) - 10s;
        messages.push_back(std::move(message));
    }
    return messages;
}

std::string described(const std::vector<NewMessage>& messages) {
    std::string all;
    for (const NewMessage& message : messages)
        all += fmt::format(
            " {} priority {} delay {}{};",
            message.payload.text,
            message.options.priority,
            message.options.delay.count(),
            message.options.at ? " at a time" : ""
        );
    return all;
}

std::string enqueued(World& world, const std::vector<MessageId>& ids) {
    for (const MessageId id : ids) world.know(id);
    return world.show()(ids);
}

Operation enqueue(Dice& dice, const World& seen) {
    const std::string name = any_queue(dice);
    const auto messages = new_messages(dice, seen);
    return {"enqueue into " + name + described(messages), [=](World& world) {
                return enqueued(world, world.store().queue(name).enqueue(messages));
            }};
}

Operation enqueue_in(Dice& dice, const World& seen) {
    const std::string name = any_queue(dice);
    const auto messages = new_messages(dice, seen);
    const bool commits = !dice.one_in(3);
    return {
        fmt::format(
            "enqueue into {} in a transaction, {}{}",
            name,
            commits ? "commit" : "rollback",
            described(messages)
        ),
        [=](World& world) {
            world.database().begin();
            try {
                const auto ids =
                    world.store().queue(name).enqueue_in(world.database().transaction(), messages);
                world.database().run(commits ? "commit" : "rollback");
                return commits ? enqueued(world, ids) : std::string("rolled back");
            } catch (...) {
                world.database().run("rollback");
                throw;
            }
        }};
}

}  // namespace

const std::vector<OperationKind>& queue_operations() {
    static const std::vector<OperationKind> all{
        {4, create_queue},
        {1, delete_queue},
        {3, set_paused},
        {1, purge},
        {1, purge_archive},
        {4, replay},
        {2, replay_dead},
        {14, enqueue},
        {3, enqueue_in},
    };
    return all;
}

}  // namespace pawl::test::twin
