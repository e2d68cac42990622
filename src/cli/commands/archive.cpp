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
    const auto messages =
        context.connect().queue(arguments.queue).archived(arguments.filter, arguments.page);
    Table table(
        {{"ID", Align::right},
         {"END"},
         {"DELIVERY", Align::right},
         {"WORKER", Align::right},
         {"ARCHIVED AT"},
         {"REASON"},
         {"PAYLOAD"}}
    );
    for (const auto& message : messages) {
        table.add(
            {std::to_string(message.id.value()),
             message.dead ? "dead" : "done",
             std::to_string(message.delivery),
             message.worker ? std::to_string(message.worker.value()) : "-",
             rfc3339_seconds(message.archived_at),
             message.reason.empty() ? "-" : message.reason,
             message.payload.text}
        );
    }
    context.answer(json_array_of(messages), table.text(terminal_width()));
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
        fmt::format("{} back in {}", replayed, arguments.queue)
    );
    return ExitCode::ok;
}

ExitCode purge_archive(const Context& context, const ArchiveArguments& arguments) {
    if (arguments.consent == ArchiveArguments::Consent::missing)
        throw UsageError("purge deletes archived messages for good: add --yes to confirm");
    const auto purged = context.connect().queue(arguments.queue).purge_archive(arguments.filter);
    context.answer(
        json_object({{"queue", arguments.queue}, {"purged", purged}}),
        fmt::format("{} deleted from the archive of {}", purged, arguments.queue)
    );
    return ExitCode::ok;
}

const Command& add_filters(const Command& command, ArchiveArguments& arguments) {
    return command.argument("QUEUE", arguments.queue, "The queue")
        .flag("--dead", arguments.filter, ArchiveFilter::dead, "Only dead letters")
        .flag("--done", arguments.filter, ArchiveFilter::done, "Only those that ended well")
        .exclusive({"--dead", "--done"});
}

}  // namespace

void add_archive_commands(const Command& root) {
    const auto arguments = std::make_shared<ArchiveArguments>();
    const auto group = root.add("archive", "Settled messages and dead letters");
    add_filters(group.add("list", "List archived messages by id"), *arguments)
        .option("--after", arguments->page.after, "Start behind this id")
        .option("--limit", arguments->page.limit, "How many at most (default 100)")
        .examples("  pawl archive list mail --dead")
        .run([arguments](const Context& context) { return list_archive(context, *arguments); });
    group.add("replay", "Put archived messages back into their queue")
        .argument("QUEUE", arguments->queue, "The queue")
        .optional_argument("ID", arguments->id, "One message")
        .flag("--all-dead", arguments->filter, ArchiveFilter::dead, "Every dead letter")
        .examples("  pawl archive replay mail 42\n  pawl archive replay mail --all-dead")
        .run([arguments](const Context& context) { return replay(context, *arguments); });
    add_filters(group.add("purge", "Delete archived messages for good"), *arguments)
        .flag("--yes", arguments->consent, ArchiveArguments::Consent::given, "Confirm")
        .examples("  pawl archive purge mail --done --yes")
        .run([arguments](const Context& context) { return purge_archive(context, *arguments); });
}

}  // namespace pawl::cli
