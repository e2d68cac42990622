// pawl message list | get: shows messages without taking them.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <pawl/error.h>

#include "cli/frame/commands.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct MessageArguments {
    std::string queue;
    MessageId id;
    std::optional<MessageState> state;
    PageRequest page;
};

// One query per state: a message that changes its state between two of them is shown once.
std::vector<Message> list_all_states(const Queue& queue, const PageRequest& page) {
    std::vector<Message> all;
    for (const auto state : {MessageState::ready, MessageState::waiting, MessageState::leased})
        std::ranges::move(queue.list(state, page), std::back_inserter(all));
    std::ranges::stable_sort(all, {}, &Message::id);
    const auto same = [](const Message& a, const Message& b) { return a.id == b.id; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    if (all.size() > static_cast<std::size_t>(page.limit))
        all.erase(all.begin() + page.limit, all.end());
    return all;
}

ExitCode list_messages(const Context& context, const MessageArguments& arguments) {
    const Queue queue = context.connect().queue(arguments.queue);
    const auto messages = arguments.state ? queue.list(*arguments.state, arguments.page)
                                          : list_all_states(queue, arguments.page);
    const auto view = context.view();
    Table table(
        {{"ID", Align::right},
         Column{"STATE"}.status(),
         Column{"DELIVERY", Align::right}.left_out(2),
         Column{"PRIORITY", Align::right}.left_out(1),
         {"VISIBLE AT"},
         Column{"PAYLOAD"}.cut_to(24)}
    );
    for (const auto& message : messages) {
        table.add(
            {std::to_string(message.id.value()),
             std::string(to_string(message.state)),
             std::to_string(message.delivery),
             std::to_string(message.priority),
             view.seconds(message.visible_at),
             message.payload.text}
        );
    }
    context.answer(json_array_of(messages), table.text(view));
    if (messages.size() == static_cast<std::size_t>(arguments.page.limit))
        context.remark(fmt::format("more with: --after {}", messages.back().id.value()));
    return ExitCode::ok;
}

std::string describe(const View& view, const Message& message) {
    auto text = fmt::format(
        "message     {}\nqueue       {}\nstate       {}\ndelivery    {}\nstrikes     {}\n"
        "attempts    {}\npriority    {}\nenqueued    {}\nvisible at  {}\n",
        message.id.value(),
        message.queue,
        to_string(message.state),
        message.delivery,
        message.strikes,
        message.attempts,
        message.priority,
        view.time(message.enqueued_at),
        view.time(message.visible_at)
    );
    if (message.worker) text += fmt::format("worker      {}\n", message.worker.value());
    if (!message.last_error.empty())
        text += fmt::format("last error  {}\n", printable(message.last_error));
    return text + fmt::format("payload     {}", printable(view.value(message.payload.text)));
}

std::string describe(const View& view, const ArchivedMessage& message) {
    auto text = fmt::format(
        "message     {}\nqueue       {}\nstate       archived{}\ndelivery    {}\nstrikes     {}\n"
        "attempts    {}\npriority    {}\nenqueued    {}\narchived    {}\n",
        message.id.value(),
        message.queue,
        message.dead ? " (dead letter)" : "",
        message.delivery,
        message.strikes,
        message.attempts,
        message.priority,
        view.time(message.enqueued_at),
        view.time(message.archived_at)
    );
    if (message.worker) text += fmt::format("worker      {}\n", message.worker.value());
    if (!message.reason.empty()) text += fmt::format("reason      {}\n", printable(message.reason));
    return text + fmt::format("payload     {}", printable(view.value(message.payload.text)));
}

ExitCode get(const Context& context, const MessageArguments& arguments) {
    const Queue queue = context.connect().queue(arguments.queue);
    if (const auto live = queue.find(arguments.id)) {
        context.answer(to_json(*live), describe(context.view(), *live));
        return ExitCode::ok;
    }
    const PageRequest only{.after = MessageId(arguments.id.value() - 1), .limit = 1};
    const auto archived = queue.archived(ArchiveFilter::all, only);
    if (archived.empty() || archived.front().id != arguments.id)
        throw Error(
            ErrorCode::message_not_found,
            fmt::format("queue '{}' has no message {}", arguments.queue, arguments.id.value())
        );
    context.answer(to_json(archived.front()), describe(context.view(), archived.front()));
    return ExitCode::ok;
}

}  // namespace

void add_message_commands(const Command& root) {
    const auto arguments = std::make_shared<MessageArguments>();
    const auto group = root.add("message", "Show messages without taking them");
    group.examples("  pawl message list mail --state leased\n  pawl message get mail 42");
    group.add("list", "List live messages in the order of their ids")
        .argument("QUEUE", arguments->queue, "The queue")
        .option("--state", arguments->state, "Only messages in this state")
        .option("--after", arguments->page.after, "Start after this id")
        .option("--limit", arguments->page.limit, "Show at most this many (default 100)")
        .examples(
            "  pawl message list mail --state leased\n"
            "  pawl message list mail --after 100 --limit 50"
        )
        .run([arguments](const Context& context) { return list_messages(context, *arguments); });
    group.add("get", "Show one message, live or archived")
        .argument("QUEUE", arguments->queue, "The queue")
        .argument("ID", arguments->id, "The message")
        .examples("  pawl message get mail 42 --json")
        .run([arguments](const Context& context) { return get(context, *arguments); });
}

}  // namespace pawl::cli
