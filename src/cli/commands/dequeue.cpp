// pawl dequeue: delivers messages to a person or a shell script.
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/commands/workflow_queue.h"
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
    return table.text(View{.full = true});
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

// Messages that could not be printed are released instead of settled.
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
             "they are delivered again after their lease; use: pawl flow poll, and: pawl flow "
             "complete"}
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
         "they are delivered again; use a longer --lease"}
    );
    return ExitCode::failure;
}

std::string paused_text(const std::string& queue) {
    return fmt::format("queue {0} is paused; resume it with: pawl queue resume {0}", queue);
}

std::string why_empty(const Queue& queue) {
    return queue.info().paused ? paused_text(queue.name()) : "no message is ready";
}

// Before a long wait that cannot succeed. An unknown queue is reported by the dequeue itself.
void warn_if_paused(const Context& context, const Store& store, const std::string& name) {
    for (const QueueInfo& queue : store.queues()) {
        if (queue.name == name && queue.paused)
            context.remark(fmt::format("waiting, but {}", paused_text(name)));
    }
}

ExitCode dequeue(const Context& context, const DequeueArguments& arguments) {
    const Store store = context.connect();
    const Queue queue = store.queue(arguments.queue);
    if (arguments.options.wait > Duration::zero()) warn_if_paused(context, store, arguments.queue);
    const auto messages = for_plain_queue(store, QueueUse::dequeue, arguments.queue, [&] {
        return queue.dequeue(arguments.options);
    });
    if (messages.empty()) {
        if (context.json()) context.print("[]");
        context.remark(why_empty(queue));
        return ExitCode::ok;
    }
    print_or_give_back(context, queue, messages);
    if (arguments.settle == Settle::later) {
        const auto& first = messages.front();
        context.remark(fmt::format(
            "leased until {}; settle with: pawl settle archive {} {} {}",
            context.view().seconds(first.visible_at),
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
    root.add("dequeue", "Lease messages and print them; settle them before the lease ends")
        .argument("QUEUE", arguments->queue, "The queue")
        .option("--max", options.max_messages, "Take at most this many (default 1)")
        .option(
            "--lease", options.lease, "Hold them for this long (default: the lease of the queue)"
        )
        .option("--wait", options.wait, "Wait this long for a first message (default: do not wait)")
        .flag("--archive", settle, Settle::archive, "Settle them as done after printing")
        .flag("--remove", settle, Settle::remove, "Delete them after printing, without an archive")
        .flag("--release", settle, Settle::release, "Give them back after printing")
        .exclusive({"--archive", "--remove", "--release"})
        .examples(
            "  pawl dequeue mail --max 10 --wait 5s\n"
            "  pawl dequeue mail --archive --json | jq '.[].payload'"
        )
        .run([arguments](const Context& context) { return dequeue(context, *arguments); });
}

}  // namespace pawl::cli
