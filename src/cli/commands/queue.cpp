// pawl queue create | list | delete | purge | pause | resume | stats.
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <unistd.h>

#include "cli/commands/workflow_queue.h"
#include "cli/frame/commands.h"
#include "cli/output/queue_table.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct QueueArguments {
    std::string name;
    QueueOptions options;
    DeleteMode mode = DeleteMode::if_empty;
    enum class Consent { ask, given } consent = Consent::ask;
};

std::string settings(const QueueInfo& queue) {
    return fmt::format(
        "lease {}, max strikes {}, max attempts {}, {}, dead letters {}",
        queue.lease ? short_duration(*queue.lease) : "default",
        queue.max_strikes,
        queue.max_attempts == 0 ? "unlimited" : std::to_string(queue.max_attempts),
        queue.keep_archive ? "keeps its archive" : "keeps no archive",
        queue.dead_letter_queue.empty() ? "in the archive" : "to " + queue.dead_letter_queue
    );
}

void add_create_queue(const Command& group) {
    const auto arguments = std::make_shared<QueueArguments>();
    auto& options = arguments->options;
    group.add("create", "Create a queue, or change the settings that are given")
        .argument("NAME", arguments->name, "The queue")
        .flag(
            "--archive",
            options.keep_archive,
            true,
            "Keep settled messages in the archive (default)"
        )
        .flag("--no-archive", options.keep_archive, false, "Delete settled messages")
        .option("--lease", options.lease, "The lease of a dequeued message (default 30s)")
        .option(
            "--max-strikes",
            options.max_strikes,
            "Deliveries without a report before it is dead (default 5)"
        )
        .option(
            "--max-attempts",
            options.max_attempts,
            "Failures before it is dead; 0 means no limit (default 25)"
        )
        .option(
            "--dead-letter-queue",
            options.dead_letter_queue,
            "Move dead letters to this queue; '' keeps them in the archive (default)"
        )
        .exclusive({"--archive", "--no-archive"})
        .examples(
            "  pawl queue create mail --lease 1m --max-attempts 10\n"
            "  pawl queue create mail --dead-letter-queue mail-dead"
        )
        .run([arguments](const Context& context) {
            const Store store = context.connect();
            const auto queue = for_plain_queue(store, QueueUse::create, arguments->name, [&] {
                return store.create_queue(arguments->name, arguments->options);
            });
            const auto info = queue.info();
            context.answer(to_json(info), fmt::format("queue {}: {}", info.name, settings(info)));
            return ExitCode::ok;
        });
}

ExitCode list_queues(const Context& context) {
    const Store store = context.connect();
    const auto queues = store.queues();
    const auto view = context.view();
    const auto now = store.now();
    Table table(
        {Column{"QUEUE"}.cut_to(16),
         {"KIND"},
         Column{"STATE"}.status(),
         Column{"LEASE", Align::right}.left_out(3),
         Column{"STRIKES", Align::right}.left_out(1),
         Column{"ATTEMPTS", Align::right}.left_out(4),
         Column{"ARCHIVE"}.left_out(2),
         Column{"DEAD LETTERS"}.cut_to(12),
         {"CREATED"}}
    );
    for (const auto& queue : queues) {
        table.add(
            {queue.name,
             std::string(to_string(queue.kind)),
             queue.paused ? "paused" : "active",
             queue.lease ? short_duration(*queue.lease) : "default",
             std::to_string(queue.max_strikes),
             queue.max_attempts == 0 ? "no limit" : std::to_string(queue.max_attempts),
             queue.keep_archive ? "kept" : "none",
             queue.dead_letter_queue.empty() ? "archive" : queue.dead_letter_queue,
             view.age(queue.created_at, now)}
        );
    }
    context.answer(json_array_of(queues), table.text(view));
    return ExitCode::ok;
}

void add_delete(const Command& group) {
    const auto arguments = std::make_shared<QueueArguments>();
    group
        .add("delete", "Delete a queue and its archive; refused if it has messages or dead letters")
        .argument("NAME", arguments->name, "The queue")
        .flag(
            "--force",
            arguments->mode,
            DeleteMode::force,
            "Delete its messages and dead letters too"
        )
        .examples("  pawl queue delete mail\n  pawl queue delete mail --force")
        .run([arguments](const Context& context) {
            const Store store = context.connect();
            for_plain_queue(store, QueueUse::remove, arguments->name, [&] {
                store.delete_queue(arguments->name, arguments->mode);
            });
            context.answer(
                json_object({{"queue", arguments->name}, {"deleted", true}}),
                fmt::format("queue {} deleted", arguments->name)
            );
            return ExitCode::ok;
        });
}

bool agrees(const Queue& queue) {
    const auto stats = queue.stats();
    fmt::print(
        stderr,
        "Delete all {} messages of {}? [y/N] ",
        to_string(stats.ready + stats.waiting + stats.leased),
        queue.name()
    );
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

ExitCode purge_queue(const Context& context, const QueueArguments& arguments) {
    const bool ask = arguments.consent == QueueArguments::Consent::ask;
    if (ask && !is_terminal(STDIN_FILENO))
        throw UsageError("purge deletes every message of the queue: add --yes to confirm");
    const Store store = context.connect();
    const Queue queue = store.queue(arguments.name);
    if (ask && !agrees(queue)) {
        context.remark("nothing was deleted");
        return ExitCode::failure;
    }
    const auto purged =
        for_plain_queue(store, QueueUse::purge, arguments.name, [&] { return queue.purge(); });
    context.answer(
        json_object({{"queue", arguments.name}, {"purged", purged}}),
        fmt::format("{} deleted from {}", counted(purged, "message"), arguments.name)
    );
    return ExitCode::ok;
}

void add_purge_queue(const Command& group) {
    const auto arguments = std::make_shared<QueueArguments>();
    group.add("purge", "Delete every live message, also leased ones; the archive stays")
        .argument("NAME", arguments->name, "The queue")
        .flag(
            "--yes",
            arguments->consent,
            QueueArguments::Consent::given,
            "Do not ask for confirmation"
        )
        .examples("  pawl queue purge mail --yes")
        .run([arguments](const Context& context) { return purge_queue(context, *arguments); });
}

ExitCode answer_settings(const Context& context, const Queue& queue, const char* what) {
    context.answer(to_json(queue.info()), fmt::format("queue {} {}", queue.name(), what));
    return ExitCode::ok;
}

void add_pause_and_resume(const Command& group) {
    const auto name = std::make_shared<std::string>();
    group.add("pause", "Stop the delivery of messages; enqueue still works")
        .argument("NAME", *name, "The queue")
        .examples("  pawl queue pause mail")
        .run([name](const Context& context) {
            const Queue queue = context.connect().queue(*name);
            queue.pause();
            return answer_settings(context, queue, "paused");
        });
    group.add("resume", "Deliver messages again after pause")
        .argument("NAME", *name, "The queue")
        .examples("  pawl queue resume mail")
        .run([name](const Context& context) {
            const Queue queue = context.connect().queue(*name);
            queue.resume();
            return answer_settings(context, queue, "resumed");
        });
}

void add_stats(const Command& group) {
    const auto name = std::make_shared<std::string>();
    group.add("stats", "Count the messages of one queue, or of all, by state")
        .optional_argument("NAME", *name, "The queue")
        .examples("  pawl queue stats\n  pawl queue stats mail --json")
        .run([name](const Context& context) {
            const Store store = context.connect();
            if (name->empty()) {
                const auto all = store.queue_stats();
                context.answer(json_array_of(all), queue_table(context.view(), all));
            } else {
                const auto one = store.queue(*name).stats();
                context.answer(to_json(one), queue_table(context.view(), {one}));
            }
            return ExitCode::ok;
        });
}

}  // namespace

void add_queue_commands(const Command& root) {
    const auto group = root.add("queue", "Create, list, pause, purge and delete queues");
    group.examples(
        "  pawl queue create mail --lease 1m\n"
        "  pawl queue stats mail\n"
        "  pawl queue pause mail\n"
        "  pawl queue delete mail"
    );
    add_create_queue(group);
    group.add("list", "List the queues and their settings")
        .examples("  pawl queue list\n  pawl queue list --json")
        .run(list_queues);
    add_delete(group);
    add_purge_queue(group);
    add_pause_and_resume(group);
    add_stats(group);
}

}  // namespace pawl::cli
