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
std::string time_or_dash(const View& view, const std::optional<Timestamp>& time) {
    return time ? view.time(*time) : "-";
}

ExitCode list_events(const Context& context, const OutboxFilter& filter) {
    const Store store = context.connect();
    const auto events = store.outbox(filter);
    const auto view = context.view();
    const auto now = store.now();
    Table table(
        {{"ID", Align::right},
         Column{"STATUS"}.status(),
         Column{"TYPE"}.cut_to(16),
         Column{"AGGREGATE"}.left_out(2).cut_to(12),
         Column{"ATTEMPTS", Align::right}.left_out(1),
         {"CREATED"},
         Column{"ERROR"}.cut_to(24)}
    );
    for (const auto& event : events) {
        table.add(
            {std::to_string(event.id),
             std::string(to_string(event.status)),
             event.type,
             printable_or_dash(event.aggregate),
             std::to_string(event.attempts),
             view.age(event.created_at, now),
             printable_or_dash(event.last_error)}
        );
    }
    context.answer(json_array_of(events), table.text(view));
    if (events.size() == static_cast<std::size_t>(filter.limit))
        context.remark(fmt::format("more with: --after {}", events.back().id));
    return ExitCode::ok;
}

std::string describe(const View& view, const OutboxEvent& event) {
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
        view.time(event.created_at),
        time_or_dash(view, event.visible_at),
        time_or_dash(view, event.published_at),
        printable(view.value(event.payload.text))
    );
}

ExitCode show_event(const Context& context, std::int64_t id) {
    const auto found = context.connect().outbox({.after = id - 1, .limit = 1});
    if (found.empty() || found.front().id != id)
        throw Error(
            ErrorCode::outbox_event_not_found, fmt::format("the outbox has no event {}", id)
        );
    context.answer(to_json(found.front()), describe(context.view(), found.front()));
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
        throw UsageError("give the ID of one event, or --all");
    const auto retried = context.connect().retry_parked(arguments.id.value_or(0));
    context.answer(
        json_object({{"retried", retried}}),
        fmt::format("{} will be delivered again", counted(retried, "event"))
    );
    return ExitCode::ok;
}

void add_list(const Command& group) {
    const auto filter = std::make_shared<OutboxFilter>();
    group.add("list", "List events, oldest first")
        .option("--status", filter->status, "Only events with this status")
        .option("--type", filter->type, "Only events of this type")
        .option("--aggregate", filter->aggregate, "Only events of this aggregate")
        .option("--run", filter->run, "Only events that this run has published")
        .option("--after", filter->after, "Start after this number")
        .option("--limit", filter->limit, "Show at most this many (default 100)")
        .examples("  pawl outbox list --status PARKED")
        .run([filter](const Context& context) { return list_events(context, *filter); });
}

void add_publish(const Command& group) {
    const auto arguments = std::make_shared<PublishArguments>();
    auto& event = arguments->event;
    group.add("publish", "Add an event to the outbox and print its id")
        .argument("TYPE", event.type, "The type of the event, for example invoice.paid")
        .optional_argument(
            "JSON", arguments->payload, "The payload (default null); - is standard input"
        )
        .option("--aggregate", event.aggregate, "Deliver events with the same aggregate in order")
        .option(
            "--subject", event.subject, "The subject of the CloudEvent (default: the aggregate)"
        )
        .option("--traceparent", event.traceparent, "The W3C trace context to send with the event")
        .examples("  pawl outbox publish invoice.paid '{\"total\":12}' --aggregate invoice-42")
        .run([arguments](const Context& context) { return publish(context, *arguments); });
}

void add_retry(const Command& group) {
    const auto arguments = std::make_shared<RetryArguments>();
    group.add("retry", "Deliver parked events again")
        .optional_argument("ID", arguments->id, "The number of the event")
        .flag("--all", arguments->all, true, "All parked events")
        .examples("  pawl outbox retry 42\n  pawl outbox retry --all")
        .run([arguments](const Context& context) { return retry_events(context, *arguments); });
}

}  // namespace

void add_outbox_commands(const Command& root) {
    const auto id = std::make_shared<std::int64_t>();
    const auto group = root.add("outbox", "List, publish and deliver events");
    group.examples(
        "  pawl outbox list --status PARKED\n"
        "  pawl outbox publish invoice.paid '{\"total\":12}' --aggregate invoice-42\n"
        "  pawl outbox retry --all\n"
        "  pawl outbox dispatch --to https://example.org/events"
    );
    add_list(group);
    group.add("show", "Show everything about one event")
        .argument("ID", *id, "The number of the event")
        .examples("  pawl outbox show 42")
        .run([id](const Context& context) { return show_event(context, *id); });
    add_publish(group);
    add_retry(group);
    add_dispatch_command(group);
}

}  // namespace pawl::cli
