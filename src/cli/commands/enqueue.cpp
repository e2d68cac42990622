// pawl enqueue: one message from the command line, or many from a file.
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands/enqueue_lines.h"
#include "cli/commands/workflow_queue.h"
#include "cli/frame/commands.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

struct EnqueueArguments {
    std::string queue;
    std::optional<std::string> payload;
    std::optional<std::string> file;
    EnqueueOptions options;
};

void answer_ids(const Context& context, const Queue& queue, const std::vector<MessageId>& ids) {
    const auto json = json_object({{"queue", queue.name()}});
    context.print(with_field(json, "ids", to_json(ids)));
}

ExitCode enqueue_one(const Context& context, const EnqueueArguments& arguments) {
    const Store store = context.connect();
    const Queue queue = store.queue(arguments.queue);
    const MessageId id = for_plain_queue(store, QueueUse::enqueue, arguments.queue, [&] {
        return queue.enqueue(Json(*arguments.payload), arguments.options);
    });
    if (context.json()) {
        answer_ids(context, queue, {id});
    } else {
        context.print(std::to_string(id.value()));
    }
    return ExitCode::ok;
}

// Prints ids batch by batch as they are committed; in JSON all at the end, also after an error.
ExitCode enqueue_lines(
    const Context& context, const EnqueueArguments& arguments, std::istream& input
) {
    const Queue queue = context.connect().queue(arguments.queue);
    LineEnqueuer enqueuer(queue, arguments.options, input);
    std::vector<MessageId> all;
    try {
        while (true) {
            const auto ids = enqueuer.next_batch();
            if (ids.empty()) break;
            all.insert(all.end(), ids.begin(), ids.end());
            std::vector<std::int64_t> numbers;
            numbers.reserve(ids.size());
            for (const auto id : ids) numbers.push_back(id.value());
            if (!context.json()) context.print(fmt::format("{}", fmt::join(numbers, "\n")));
        }
    } catch (const Error&) {
        if (context.json()) answer_ids(context, queue, all);
        throw;
    }
    if (context.json()) answer_ids(context, queue, all);
    return ExitCode::ok;
}

ExitCode enqueue(const Context& context, const EnqueueArguments& arguments) {
    if (arguments.payload) return enqueue_one(context, arguments);
    if (!arguments.file) throw UsageError("give a PAYLOAD, or --file with one message per line");
    if (*arguments.file == "-") return enqueue_lines(context, arguments, std::cin);
    std::ifstream input(*arguments.file);
    if (!input)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("cannot open {}: {}", *arguments.file, std::strerror(errno))
        );
    return enqueue_lines(context, arguments, input);
}

}  // namespace

void add_enqueue_command(const Command& root) {
    const auto arguments = std::make_shared<EnqueueArguments>();
    auto& options = arguments->options;
    root.add("enqueue", "Add messages to a queue; print their ids when they are durable")
        .argument("QUEUE", arguments->queue, "The queue")
        .optional_argument("PAYLOAD", arguments->payload, "The message, in JSON")
        .option("--priority", options.priority, "Deliver higher priorities first (default 0)")
        .option("--delay", options.delay, "Deliver them after this long")
        .time_option("--at", options.at, Bare::from_now, "Deliver them at this time or later")
        .option(
            "--file", arguments->file, "Read JSON Lines, one message per line; - is standard input"
        )
        .exclusive({"--delay", "--at"})
        .exclusive({"PAYLOAD", "--file"})
        .examples(
            "  pawl enqueue mail '{\"to\":\"ada\"}' --priority 5\n"
            "  pawl enqueue mail '{\"to\":\"bob\"}' --delay 10s\n"
            "  pawl enqueue mail --file messages.jsonl\n"
            "  jq -c '.[]' all.json | pawl enqueue mail --file -\n"
            "  pawl enqueue numbers -- -5"
        )
        .run([arguments](const Context& context) { return enqueue(context, *arguments); });
}

}  // namespace pawl::cli
