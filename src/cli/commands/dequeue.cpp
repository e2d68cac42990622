// pawl dequeue: hands messages to a person or a shell script.
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

enum class Settle { later, archive, remove, release };

struct DequeueArguments {
    std::string queue;
    DequeueOptions options;
    Settle settle = Settle::later;
};

std::string message_table(const std::vector<Message>& messages) {
    Table table(
        {{"ID", Align::right}, {"DELIVERY", Align::right}, {"PRIORITY", Align::right}, {"PAYLOAD"}}
    );
    for (const auto& message : messages) {
        table.add(
            {std::to_string(message.id.value()),
             std::to_string(message.delivery),
             std::to_string(message.priority),
             message.payload.text}
        );
    }
    return table.text(0);  // who takes a message wants all of it
}

std::vector<Outcome> settle_all(
    const Queue& queue, Settle settle, const std::vector<Message>& messages
) {
    std::vector<Lease> leases;
    leases.reserve(messages.size());
    for (const auto& message : messages) leases.push_back(message.lease());
    switch (settle) {
        case Settle::later:
            return {};
        case Settle::archive:
            return queue.archive(leases);
        case Settle::remove:
            return queue.remove(leases);
        case Settle::release:
            return queue.release(leases);
    }
    return {};
}

// What could not be printed was seen by nobody: it goes back instead of being settled.
void print_or_give_back(
    const Context& context, const Queue& queue, const std::vector<Message>& messages
) {
    try {
        context.answer(json_array_of(messages), message_table(messages));
    } catch (const OutputError&) {
        settle_all(queue, Settle::release, messages);
        throw;
    }
}

ExitCode explain_outcomes(
    const Context& context,
    const std::vector<Message>& messages,
    const std::vector<Outcome>& outcomes
) {
    const auto refused = std::ranges::count(outcomes, Outcome::workflow_queue);
    if (refused > 0) {
        report(
            context.format,
            {"workflow_queue",
             fmt::format(
                 "{} of {} messages carry tasks of a flow: they were not settled",
                 refused,
                 messages.size()
             ),
             "they are delivered again after their lease; a worker with a handler completes them"}
        );
        return ExitCode::failure;
    }
    const auto lost = std::ranges::count(outcomes, Outcome::lease_lost);
    if (lost == 0) return ExitCode::ok;
    report(
        context.format,
        {"lease_lost",
         fmt::format(
             "{} of {} messages were not settled: their lease ended first", lost, messages.size()
         ),
         "they are handed out again; use a longer --lease"}
    );
    return ExitCode::failure;
}

ExitCode dequeue(const Context& context, const DequeueArguments& arguments) {
    const Queue queue = context.connect().queue(arguments.queue);
    const auto messages = queue.dequeue(arguments.options);
    if (messages.empty()) {
        if (context.json()) context.print("[]");
        context.remark("no message is ready");
        return ExitCode::ok;
    }
    print_or_give_back(context, queue, messages);
    if (arguments.settle == Settle::later) {
        const auto& first = messages.front();
        context.remark(fmt::format(
            "leased until {}; settle with: pawl settle archive {} {} {}",
            rfc3339_seconds(first.visible_at),
            queue.name(),
            first.id.value(),
            first.delivery
        ));
        return ExitCode::ok;
    }
    return explain_outcomes(context, messages, settle_all(queue, arguments.settle, messages));
}

}  // namespace

void add_dequeue_command(const Command& root) {
    const auto arguments = std::make_shared<DequeueArguments>();
    auto& options = arguments->options;
    auto& settle = arguments->settle;
    root.add("dequeue", "Take messages, print them, and hold them until they are settled")
        .argument("QUEUE", arguments->queue, "The queue")
        .option("--max", options.max_messages, "How many at most (default 1)")
        .option("--lease", options.lease, "How long they are yours (default: the queue's)")
        .option("--wait", options.wait, "How long to wait for the first (default: not at all)")
        .flag("--archive", settle, Settle::archive, "Settle as done once they are printed")
        .flag("--remove", settle, Settle::remove, "Delete without a trace once they are printed")
        .flag("--release", settle, Settle::release, "Give back once they are printed")
        .exclusive({"--archive", "--remove", "--release"})
        .examples(
            "  pawl dequeue mail --max 10 --wait 5s\n"
            "  pawl dequeue mail --archive --json | jq '.[].payload'"
        )
        .run([arguments](const Context& context) { return dequeue(context, *arguments); });
}

}  // namespace pawl::cli
