// pawl settle: what a shell script says when it is done with a message.
#include <fmt/format.h>
#include <functional>
#include <memory>

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

ExitCode settle(
    const Context& context, const SettleArguments& arguments, const SettleOperation& apply
) {
    const Queue queue = context.connect().queue(arguments.queue);
    Message message;
    message.id = arguments.id;
    message.delivery = arguments.delivery;
    const bool done = apply(queue, message, arguments) == Outcome::done;
    const auto json = json_object(
        {{"queue", arguments.queue},
         {"id", arguments.id.value()},
         {"delivery", arguments.delivery},
         {"outcome", done ? "done" : "lease_lost"}}
    );
    if (context.json()) context.print(json);
    if (done) return ExitCode::ok;
    if (!context.json())
        report(
            context.format,
            {"lease_lost",
             fmt::format(
                 "delivery {} of message {} is not yours any more: nothing was changed",
                 arguments.delivery,
                 arguments.id.value()
             ),
             "it was handed out again, settled or deleted; see: pawl message get QUEUE ID"}
        );
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
        .run([arguments, apply](const Context& context) {
            return settle(context, *arguments, apply);
        });
    return command;
}

}  // namespace

void add_settle_commands(const Command& root) {
    using Arguments = const SettleArguments&;
    const auto arguments = std::make_shared<SettleArguments>();
    const auto group =
        root.add("settle", "Say what became of a dequeued message; exit 1: too late");
    group.examples(
        "  pawl settle archive mail 42 1\n"
        "  pawl settle release mail 42 1 --delay 5m\n"
        "  pawl settle extend mail 42 1 --lease 2m"
    );
    add_settle(
        group,
        "archive",
        "It is done",
        arguments,
        [](const Queue& queue, const Message& message, Arguments) { return queue.archive(message); }
    );
    add_settle(
        group,
        "remove",
        "Delete it without a trace",
        arguments,
        [](const Queue& queue, const Message& message, Arguments) { return queue.remove(message); }
    );
    add_settle(
        group,
        "release",
        "Give it back",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.release(message, a.delay);
        }
    ).option("--delay", arguments->delay, "Not before that long from now");
    add_settle(
        group,
        "fail",
        "Record a failure and give it back; a dead letter at the queue's maximum",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.fail(message, a.error, a.delay);
        }
    )
        .option("--delay", arguments->delay, "Not before that long from now")
        .option("--error", arguments->error, "What went wrong");
    add_settle(
        group,
        "extend",
        "Keep it longer",
        arguments,
        [](const Queue& queue, const Message& message, Arguments a) {
            return queue.extend(message, a.lease);
        }
    ).required_option("--lease", arguments->lease, "How long from now");
}

}  // namespace pawl::cli
