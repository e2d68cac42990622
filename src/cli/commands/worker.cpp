// pawl worker list | suspend | resume | interrupt | stop | held | delete | purge.
#include <fmt/format.h>
#include <memory>
#include <thread>

#include "cli/frame/commands.h"
#include "cli/frame/literals.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

enum class Show { running, all };

std::string status_of(const WorkerInfo& worker) {
    return fmt::format("{}{}", to_string(worker.status), worker.lost ? " (lost)" : "");
}

ExitCode list_workers(const Context& context, Show show) {
    const Store store = context.connect();
    auto workers = store.workers();
    if (show == Show::running)
        std::erase_if(workers, [](const WorkerInfo& worker) {
            return worker.status == WorkerStatus::stopped;
        });
    const auto now = store.now();
    const auto view = context.view();
    Table table(
        {{"ID", Align::right},
         Column{"NAME"}.cut_to(16),
         Column{"STATUS"}.status(),
         Column{"HOST"}.left_out(2).cut_to(12),
         Column{"PID", Align::right}.left_out(1),
         {"HEARTBEAT"},
         Column{"QUEUES"}.cut_to(20)}
    );
    for (const auto& worker : workers) {
        table.add(
            {std::to_string(worker.id.value()),
             worker.name,
             status_of(worker),
             worker.host,
             std::to_string(worker.pid),
             view.age(worker.heartbeat_at, now),
             fmt::format("{}", fmt::join(worker.subscriptions, " "))}
        );
    }
    context.answer(json_array_of(workers), table.text(view));
    return ExitCode::ok;
}

struct TransitionArguments {
    WorkerId id;
    bool wait = false;
    Duration timeout = 30s;
};

// A heartbeat after the request is the worker's answer: it has read its new status.
WorkerInfo wait_for_worker(const Store& store, const WorkerInfo& asked, Duration timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        WorkerInfo worker = store.worker_info(asked.id);
        if (worker.heartbeat_at > asked.heartbeat_at) return worker;
        if (std::chrono::steady_clock::now() >= deadline) {
            throw Error(
                ErrorCode::timeout,
                fmt::format(
                    "worker {} ({}) has not answered within {}; it follows the request when it is "
                    "back",
                    asked.id.value(),
                    asked.name,
                    short_duration(timeout)
                )
            );
        }
        std::this_thread::sleep_for(20ms);
    }
}

ExitCode move_worker(
    const Context& context, WorkerEvent event, const TransitionArguments& arguments
) {
    const Store store = context.connect();
    store.transition_worker(arguments.id, event);
    WorkerInfo worker = store.worker_info(arguments.id);
    const auto id = worker.id.value();
    if (!arguments.wait) {
        context.answer(
            to_json(worker),
            fmt::format(
                "worker {} ({}): {} requested; takes effect at the worker's next heartbeat at the "
                "latest",
                id,
                worker.name,
                to_string(event)
            )
        );
        return ExitCode::ok;
    }
    worker = wait_for_worker(store, worker, arguments.timeout);
    context.answer(
        to_json(worker), fmt::format("worker {} ({}) is {}", id, worker.name, status_of(worker))
    );
    return ExitCode::ok;
}

void add_transition(const Command& group, WorkerEvent event, const std::string& help) {
    const auto arguments = std::make_shared<TransitionArguments>();
    const std::string name(to_string(event));
    group.add(name, help)
        .argument("ID", arguments->id, "The worker")
        .flag("--wait", arguments->wait, true, "Return when the worker has followed the request")
        .option("--timeout", arguments->timeout, "The limit of --wait (default 30s)")
        .examples("  pawl worker " + name + " 7 --wait")
        .run([arguments, event](const Context& context) {
            return move_worker(context, event, *arguments);
        });
}

void add_held(const Command& group) {
    const auto id = std::make_shared<WorkerId>();
    const auto page = std::make_shared<PageRequest>();
    group.add("held", "List the messages, runs and tasks that a worker holds")
        .argument("ID", *id, "The worker")
        .option("--limit", page->limit, "Show at most this many (default 100)")
        .option("--after", page->after, "Start after this message id")
        .examples("  pawl worker held 3")
        .run([id, page](const Context& context) {
            const auto messages = context.connect().held_messages(*id, *page);
            Table table(
                {{"ID", Align::right}, {"QUEUE"}, {"DELIVERY", Align::right}, {"LEASED UNTIL"}}
            );
            for (const auto& message : messages)
                table.add(
                    {std::to_string(message.id.value()),
                     message.queue,
                     std::to_string(message.delivery),
                     context.view().seconds(message.visible_at)}
                );
            context.answer(json_array_of(messages), table.text(context.view()));
            if (messages.size() == static_cast<std::size_t>(page->limit))
                context.remark(fmt::format("more with: --after {}", messages.back().id.value()));
            return ExitCode::ok;
        });
}

void add_delete_worker(const Command& group) {
    const auto id = std::make_shared<WorkerId>();
    group.add("delete", "Delete the record of one worker, which must have stopped or be lost")
        .argument("ID", *id, "The worker")
        .examples("  pawl worker delete 3")
        .run([id](const Context& context) {
            context.connect().delete_worker(*id);
            context.answer(
                json_object({{"worker_id", id->value()}, {"deleted", true}}),
                fmt::format("worker {} deleted", id->value())
            );
            return ExitCode::ok;
        });
}

void add_purge_workers(const Command& group) {
    const auto age = std::make_shared<Duration>(24h);
    group.add("purge", "Delete the records of stopped and lost workers")
        .option("--older-than", *age, "Only if the last heartbeat is older than this (default 24h)")
        .examples("  pawl worker purge --older-than 24h")
        .run([age](const Context& context) {
            const auto purged = context.connect().purge_workers(*age);
            context.answer(
                json_object({{"purged", purged}}),
                fmt::format("{} deleted", counted(purged, "worker"))
            );
            return ExitCode::ok;
        });
}

}  // namespace

void add_worker_commands(const Command& root) {
    const auto show = std::make_shared<Show>(Show::running);
    const auto group = root.add("worker", "List and control the workers of all processes");
    group.examples(
        "  pawl worker list\n"
        "  pawl worker suspend 7 --wait\n"
        "  pawl worker held 7\n"
        "  pawl worker purge --older-than 7d"
    );
    group.add("list", "List workers; a lost worker has sent no heartbeat within its lease")
        .flag("--all", *show, Show::all, "Include stopped workers")
        .examples("  pawl worker list --all")
        .run([show](const Context& context) { return list_workers(context, *show); });
    add_transition(
        group, WorkerEvent::suspend, "Let a worker take no new work until it is resumed"
    );
    add_transition(group, WorkerEvent::resume, "Let a suspended worker take work again");
    add_transition(
        group,
        WorkerEvent::interrupt,
        "Stop polling after the current work; poll_forever() then returns"
    );
    add_transition(
        group, WorkerEvent::stop, "Let a worker finish the work that it holds, and stop"
    );
    add_held(group);
    add_delete_worker(group);
    add_purge_workers(group);
}

}  // namespace pawl::cli
