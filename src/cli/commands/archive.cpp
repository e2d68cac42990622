// pawl archive list | replay | purge.
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct ArchiveArguments {
    std::string queue;
    std::optional<MessageId> id;
    ArchiveFilter filter = ArchiveFilter::all;
    PageRequest page;
    enum class Consent { missing, given } consent = Consent::missing;
};

ExitCode list_archive(const Context& context, const ArchiveArguments& arguments) {
    const Store store = context.connect();
    const auto messages = store.queue(arguments.queue).archived(arguments.filter, arguments.page);
    const auto view = context.view();
    const auto now = store.now();
    Table table(
        {{"ID", Align::right},
         Column{"END"}.status(),
         Column{"DELIVERY", Align::right}.left_out(2),
         Column{"WORKER", Align::right}.left_out(1),
         {"ARCHIVED"},
         Column{"REASON"}.cut_to(20),
         Column{"PAYLOAD"}.cut_to(20)}
    );
    for (const auto& message : messages) {
        table.add(
            {std::to_string(message.id.value()),
             message.dead ? "dead" : "done",
             std::to_string(message.delivery),
             message.worker ? std::to_string(message.worker.value()) : "-",
             view.age(message.archived_at, now),
             message.reason.empty() ? "-" : message.reason,
             message.payload.text}
        );
    }
    context.answer(json_array_of(messages), table.text(view));
    if (messages.size() == static_cast<std::size_t>(arguments.page.limit))
        context.remark(fmt::format("more with: --after {}", messages.back().id.value()));
    return ExitCode::ok;
}

ExitCode replay(const Context& context, const ArchiveArguments& arguments) {
    const bool all_dead = arguments.filter == ArchiveFilter::dead;
    if (arguments.id.has_value() == all_dead)
        throw UsageError("give the ID of one message, or --all-dead");
    const Queue queue = context.connect().queue(arguments.queue);
    std::int64_t replayed = 1;
    if (all_dead) {
        replayed = queue.replay_dead();
    } else {
        queue.replay(*arguments.id);
    }
    context.answer(
        json_object({{"queue", arguments.queue}, {"replayed", replayed}}),
        fmt::format("{} put back into {}", counted(replayed, "message"), arguments.queue)
    );
    return ExitCode::ok;
}

ExitCode purge_archive(const Context& context, const ArchiveArguments& arguments) {
    if (arguments.consent == ArchiveArguments::Consent::missing)
        throw UsageError("purge deletes archived messages permanently: add --yes to confirm");
    const auto purged = context.connect().queue(arguments.queue).purge_archive(arguments.filter);
    context.answer(
        json_object({{"queue", arguments.queue}, {"purged", purged}}),
        fmt::format(
            "{} deleted from the archive of {}", counted(purged, "message"), arguments.queue
        )
    );
    return ExitCode::ok;
}

const Command& add_filters(const Command& command, ArchiveArguments& arguments) {
    return command.argument("QUEUE", arguments.queue, "The queue")
        .flag("--dead", arguments.filter, ArchiveFilter::dead, "Only dead letters")
        .flag(
            "--done",
            arguments.filter,
            ArchiveFilter::done,
            "Only messages that were settled as done"
        )
        .exclusive({"--dead", "--done"});
}

}  // namespace

void add_archive_commands(const Command& root) {
    const auto arguments = std::make_shared<ArchiveArguments>();
    const auto group =
        root.add("archive", "List, replay and delete settled messages and dead letters");
    group.examples(
        "  pawl archive list mail --dead\n"
        "  pawl archive replay mail 42\n"
        "  pawl archive purge mail --done --yes"
    );
    add_filters(group.add("list", "List archived messages in the order of their ids"), *arguments)
        .option("--after", arguments->page.after, "Start after this id")
        .option("--limit", arguments->page.limit, "Show at most this many (default 100)")
        .examples("  pawl archive list mail --dead")
        .run([arguments](const Context& context) { return list_archive(context, *arguments); });
    group.add("replay", "Put archived messages back into their queue")
        .argument("QUEUE", arguments->queue, "The queue")
        .optional_argument("ID", arguments->id, "The message")
        .flag(
            "--all-dead",
            arguments->filter,
            ArchiveFilter::dead,
            "Replay every dead letter of the queue"
        )
        .examples("  pawl archive replay mail 42\n  pawl archive replay mail --all-dead")
        .run([arguments](const Context& context) { return replay(context, *arguments); });
    add_filters(group.add("purge", "Delete archived messages permanently"), *arguments)
        .flag(
            "--yes",
            arguments->consent,
            ArchiveArguments::Consent::given,
            "Confirm that the messages may be deleted"
        )
        .examples("  pawl archive purge mail --done --yes")
        .run([arguments](const Context& context) { return purge_archive(context, *arguments); });
}

}  // namespace pawl::cli
