// pawl worker list | suspend | resume | interrupt | stop | held | delete | purge.
#include <fmt/format.h>
#include <memory>
#include <thread>

#include "cli/frame/commands.h"
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
    Table table(
        {{"ID", Align::right},
         {"NAME"},
         {"STATUS"},
         {"HOST"},
         {"PID", Align::right},
         {"HEARTBEAT"},
         {"QUEUES"}}
    );
    for (const auto& worker : workers) {
        const auto age = std::chrono::duration_cast<Duration>(now - worker.heartbeat_at);
        table.add(
            {std::to_string(worker.id.value()),
             worker.name,
             status_of(worker),
             worker.host,
             std::to_string(worker.pid),
             short_duration(std::max(age, 0ms)) + " ago",
             fmt::format("{}", fmt::join(worker.subscriptions, " "))}
        );
    }
    context.answer(json_array_of(workers), table.text(terminal_width()));
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
        WorkerInfo worker = store.worker(asked.id);
        if (worker.heartbeat_at > asked.heartbeat_at) return worker;
        if (std::chrono::steady_clock::now() >= deadline) {
            throw Error(
                ErrorCode::timeout,
                fmt::format(
                    "worker {} ({}) has not answered within {}; it obeys when it comes back",
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
    WorkerInfo worker = store.worker(arguments.id);
    const auto id = worker.id.value();
    if (!arguments.wait) {
        context.answer(
            to_json(worker),
            fmt::format(
                "worker {} ({}): {} requested; it obeys when it hears of it, at its next heartbeat "
                "at the latest",
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
        .flag("--wait", arguments->wait, true, "Return when the worker has obeyed")
        .option("--timeout", arguments->timeout, "How long --wait waits at most (default 30s)")
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
        .option("--limit", page->limit, "At most so many (default 100)")
        .option("--after", page->after, "Those behind this one: the next page")
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
                     rfc3339_seconds(message.visible_at)}
                );
            context.answer(json_array_of(messages), table.text(terminal_width()));
            if (messages.size() == static_cast<std::size_t>(page->limit))
                context.remark(fmt::format("more with: --after {}", messages.back().id.value()));
            return ExitCode::ok;
        });
}

void add_delete_worker(const Command& group) {
    const auto id = std::make_shared<WorkerId>();
    group.add("delete", "Forget one worker, which must have stopped or be lost")
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
    group.add("purge", "Forget stopped and lost workers")
        .option("--older-than", *age, "Last heard of longer ago than that (default 24h)")
        .examples("  pawl worker purge --older-than 24h")
        .run([age](const Context& context) {
            const auto purged = context.connect().purge_workers(*age);
            context.answer(
                json_object({{"purged", purged}}), fmt::format("{} workers forgotten", purged)
            );
            return ExitCode::ok;
        });
}

}  // namespace

void add_worker_commands(const Command& root) {
    const auto show = std::make_shared<Show>(Show::running);
    const auto group = root.add("worker", "See and steer workers of any process");
    group.add("list", "List workers; lost ones have not been heard of for longer than their lease")
        .flag("--all", *show, Show::all, "Stopped ones too")
        .examples("  pawl worker list --all")
        .run([show](const Context& context) { return list_workers(context, *show); });
    add_transition(group, WorkerEvent::suspend, "Take no new messages until resume");
    add_transition(group, WorkerEvent::resume, "Go on after suspend");
    add_transition(group, WorkerEvent::interrupt, "End the polling after what is in hand");
    add_transition(group, WorkerEvent::stop, "Finish what is in hand, then stop for good");
    add_held(group);
    add_delete_worker(group);
    add_purge_workers(group);
}

}  // namespace pawl::cli
