// pawl settle: reports the outcome of a dequeued message.
#include <fmt/format.h>
#include <functional>
#include <memory>

#include "cli/commands/workflow_queue.h"
#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

struct SettleArguments {
    std::string queue;
    MessageId id;
    int delivery = 0;
    Duration delay{0};
    Duration lease{0};
    std::string error = "failed";
};

using SettleOperation =
    std::function<Outcome(const Queue&, const Message&, const SettleArguments&)>;

// Why nothing was settled, for people, and what to do.
Failure why_lost(const Queue& queue, const SettleArguments& arguments) {
    const auto id = arguments.id.value();
    const auto live = queue.find(arguments.id);
    const auto hint = fmt::format("see: pawl message get {} {}", queue.name(), id);
    if (live && live->delivery == arguments.delivery)
        return {
            "lease_lost",
            fmt::format("message {} is not leased: nothing was changed", id),
            fmt::format("take it with: pawl dequeue {}", queue.name())};
    if (live)
        return {
            "lease_lost",
            fmt::format(
                "delivery {} of message {} has expired, the current one is {}: nothing was changed",
                arguments.delivery,
                id,
                live->delivery
            ),
            hint};
    const PageRequest only{.after = MessageId(id - 1), .limit = 1};
    const auto archived = queue.archived(ArchiveFilter::all, only);
    if (!archived.empty() && archived.front().id == arguments.id)
        return {
            "lease_lost",
            fmt::format("message {} is settled already: nothing was changed", id),
            hint};
    return {
        "message_not_found",
        fmt::format("queue '{}' has no message {}: nothing was changed", queue.name(), id),
        fmt::format("run: pawl message list {}", queue.name())};
}

ExitCode settle(
    const Context& context, const SettleArguments& arguments, const SettleOperation& apply
) {
    const Store store = context.connect();
    const Queue queue = store.queue(arguments.queue);
    Message message;
    message.id = arguments.id;
    message.delivery = arguments.delivery;
    const auto outcome = for_plain_queue(store, QueueUse::settle, arguments.queue, [&] {
        return apply(queue, message, arguments);
    });
    const bool done = outcome == Outcome::done;
    auto json = json_object(
        {{"queue", arguments.queue},
         {"id", arguments.id.value()},
         {"delivery", arguments.delivery},
         {"outcome", done ? "done" : "lease_lost"}}
    );
    if (done) {
        if (context.json()) context.print(json);
        return ExitCode::ok;
    }
    const Failure failure = why_lost(queue, arguments);
    if (context.json()) {
        context.print(with_field(json, "reason", to_json(failure.message)));
    } else {
        report(context.format, failure);
    }
    return ExitCode::failure;
}

Command add_settle(
    const Command& group,
    const std::string& name,
    const std::string& help,
    const std::shared_ptr<SettleArguments>& arguments,
    const SettleOperation& apply
) {
    auto command = group.add(name, help);
    command.argument("QUEUE", arguments->queue, "The queue")
        .argument("ID", arguments->id, "The message")
        .argument("DELIVERY", arguments->delivery, "The delivery that dequeue printed")
        .examples(
            fmt::format("  pawl settle {} mail 42 1{}", name, name == "extend" ? " --lease 2m" : "")
        )
        .run([arguments, apply](const Context& context) {
            return settle(context, *arguments, apply);
        });
    return command;
}

}  // namespace

void add_settle_commands(const Command& root) {
    using Arguments = const SettleArguments&;
    const auto arguments = std::make_shared<SettleArguments>();
    const auto group = root.add(
        "settle", "Report the outcome of a dequeued message; exit code 1 if it is too late"
    );
    group.examples(
        "  pawl settle archive mail 42 1\n"
        "  pawl settle release mail 42 1 --delay 5m\n"
        "  pawl settle extend mail 42 1 --lease 2m"
    );
    add_settle(
        group,
        "archive",
        "The message is done",
        arguments,
        [](const Queue& queue, const Message& message, Arguments) { return queue.archive(message); }
    );
    add_settle(
        group,
        "remove",
        "Delete the message without an archive",
        arguments,
        [](const Queue& queue, const Message& message, Arguments) { return queue.remove(message); }
    );
    add_settle(
        group,
        "release",
        "Give the message back",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.release(message, a.delay);
        }
    ).option("--delay", arguments->delay, "Deliver it after this long (default: immediately)");
    add_settle(
        group,
        "fail",
        "Record a failure and give the message back; after max_attempts failures it becomes a dead "
        "letter",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.fail(message, a.error, a.delay);
        }
    )
        .option("--delay", arguments->delay, "Deliver it after this long (default: immediately)")
        .option("--error", arguments->error, "The error to record (default: failed)");
    add_settle(
        group,
        "extend",
        "Extend the lease of the message",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.extend(message, a.lease);
        }
    ).required_option("--lease", arguments->lease, "The new lease, from now");
}

}  // namespace pawl::cli
