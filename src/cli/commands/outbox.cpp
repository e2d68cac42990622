// pawl outbox list | show | publish | retry.
#include <fmt/format.h>
#include <memory>

#include "cli/commands/outbox_dispatch.h"
#include "cli/frame/commands.h"
#include "cli/frame/json_input.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct PublishArguments {
    NewOutboxEvent event;
    std::optional<std::string> payload;
};

struct RetryArguments {
    std::optional<std::int64_t> id;
    bool all = false;
};

std::string printable_or_dash(const std::string& text) {
    return text.empty() ? "-" : printable(text);
}
std::string time_or_dash(const std::optional<Timestamp>& time) {
    return time ? rfc3339(*time) : "-";
}

ExitCode list_events(const Context& context, const OutboxFilter& filter) {
    const auto events = context.connect().outbox(filter);
    Table table(
        {{"ID", Align::right},
         {"STATUS"},
         {"TYPE"},
         {"AGGREGATE"},
         {"ATTEMPTS", Align::right},
         {"CREATED"},
         {"ERROR"}}
    );
    for (const auto& event : events) {
        table.add(
            {std::to_string(event.id),
             std::string(to_string(event.status)),
             event.type,
             printable_or_dash(event.aggregate),
             std::to_string(event.attempts),
             rfc3339_seconds(event.created_at),
             printable_or_dash(event.last_error)}
        );
    }
    context.answer(json_array_of(events), table.text(terminal_width()));
    if (events.size() == static_cast<std::size_t>(filter.limit))
        context.remark(fmt::format("more with: --after {}", events.back().id));
    return ExitCode::ok;
}

std::string describe(const OutboxEvent& event) {
    return fmt::format(
        "event        {}\nevent id     {}\ntype         {}\nstatus       {}\naggregate    {}\n"
        "subject      {}\nrun          {}\nattempts     {}\nlast error   {}\ntraceparent  {}\n"
        "created      {}\nnext try     {}\npublished    {}\npayload      {}",
        event.id,
        event.event_id,
        printable(event.type),
        to_string(event.status),
        printable_or_dash(event.aggregate),
        printable_or_dash(event.subject),
        event.run ? std::to_string(event.run.value()) : "-",
        event.attempts,
        printable_or_dash(event.last_error),
        printable_or_dash(event.traceparent.value_or("")),
        rfc3339(event.created_at),
        time_or_dash(event.visible_at),
        time_or_dash(event.published_at),
        printable(event.payload.text)
    );
}

ExitCode show_event(const Context& context, std::int64_t id) {
    const auto found = context.connect().outbox({.after = id - 1, .limit = 1});
    if (found.empty() || found.front().id != id)
        throw Error(
            ErrorCode::outbox_event_not_found, fmt::format("the outbox has no event {}", id)
        );
    context.answer(to_json(found.front()), describe(found.front()));
    return ExitCode::ok;
}

ExitCode publish(const Context& context, const PublishArguments& arguments) {
    NewOutboxEvent event = arguments.event;
    event.payload = json_input(arguments.payload);
    const std::string id = context.connect().publish(event);
    context.answer(json_object({{"event_id", id}}), fmt::format("published as {}", id));
    return ExitCode::ok;
}

ExitCode retry_events(const Context& context, const RetryArguments& arguments) {
    if (arguments.id.has_value() == arguments.all)
        throw UsageError("name one event, or give --all");
    const auto retried = context.connect().retry_parked(arguments.id.value_or(0));
    context.answer(
        json_object({{"retried", retried}}), fmt::format("{} events are tried again", retried)
    );
    return ExitCode::ok;
}

void add_list(const Command& group) {
    const auto filter = std::make_shared<OutboxFilter>();
    group.add("list", "List events, oldest first")
        .option("--status", filter->status, "Only these")
        .option("--type", filter->type, "Of this type")
        .option("--aggregate", filter->aggregate, "Of this aggregate")
        .option("--run", filter->run, "That this run has published")
        .option("--after", filter->after, "Start above this number")
        .option("--limit", filter->limit, "How many at most (default 100)")
        .examples("  pawl outbox list --status PARKED")
        .run([filter](const Context& context) { return list_events(context, *filter); });
}

void add_publish(const Command& group) {
    const auto arguments = std::make_shared<PublishArguments>();
    auto& event = arguments->event;
    group.add("publish", "Put an event into the outbox; prints its id")
        .argument("TYPE", event.type, "Like invoice.paid")
        .optional_argument("JSON", arguments->payload, "The payload; - is standard input")
        .option("--aggregate", event.aggregate, "Its events are delivered in order")
        .option("--subject", event.subject, "Of CloudEvents (default: the aggregate)")
        .option("--traceparent", event.traceparent, "W3C trace context, passed on")
        .examples("  pawl outbox publish invoice.paid '{\"total\":12}' --aggregate invoice-42")
        .run([arguments](const Context& context) { return publish(context, *arguments); });
}

void add_retry(const Command& group) {
    const auto arguments = std::make_shared<RetryArguments>();
    group.add("retry", "Let parked events be tried again")
        .optional_argument("ID", arguments->id, "One event")
        .flag("--all", arguments->all, true, "All that are parked")
        .examples("  pawl outbox retry 42\n  pawl outbox retry --all")
        .run([arguments](const Context& context) { return retry_events(context, *arguments); });
}

}  // namespace

void add_outbox_commands(const Command& root) {
    const auto id = std::make_shared<std::int64_t>();
    const auto group = root.add("outbox", "See, publish and deliver events");
    add_list(group);
    group.add("show", "Everything about one event")
        .argument("ID", *id, "Its number")
        .examples("  pawl outbox show 42")
        .run([id](const Context& context) { return show_event(context, *id); });
    add_publish(group);
    add_retry(group);
    add_dispatch_command(group);
}

}  // namespace pawl::cli
