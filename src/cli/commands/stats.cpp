// pawl stats, pawl info, and the table that stats shares with `queue stats`.
#include <fmt/format.h>

#include "cli/frame/commands.h"
#include "cli/output/queue_table.h"
#include "cli/output/render.h"
#include "cli/output/run_tables.h"
#include "cli/output/table.h"

namespace pawl::cli {

std::string queue_table(const View& view, const std::vector<QueueStats>& queues) {
    Table table(
        {Column{"QUEUE"}.cut_to(16),
         {"READY", Align::right},
         {"WAITING", Align::right},
         {"LEASED", Align::right},
         {"ARCHIVED", Align::right},
         {"DEAD", Align::right},
         Column{"OLDEST READY", Align::right}.left_out(2),
         Column{"WORKERS", Align::right}.left_out(1),
         Column{"STATE"}.status()}
    );
    for (const auto& queue : queues) {
        table.add(
            {queue.queue,
             to_string(queue.ready),
             to_string(queue.waiting),
             to_string(queue.leased),
             to_string(queue.archived),
             to_string(queue.dead),
             queue.oldest_ready_age ? short_duration(*queue.oldest_ready_age) : "-",
             std::to_string(queue.workers),
             queue.paused ? "paused" : "active"}
        );
    }
    return table.text(view);
}

namespace {

ExitCode stats(const Context& context) {
    const Store store = context.connect();
    const auto totals = store.stats();
    const auto queues = store.queue_stats();
    const auto runs = store.count_runs();
    auto json = with_field("{}", "totals", to_json(totals));
    json = with_field(json, "runs", to_json(runs));
    json = with_field(json, "queues", json_array_of(queues));
    auto text = fmt::format(
        "messages  {} ready, {} waiting, {} leased, {} archived, {} dead\n"
        "runs      {}\n"
        "workers   {} live, {} lost, {} stopped\n"
        "schema    version {}\n",
        to_string(totals.ready),
        to_string(totals.waiting),
        to_string(totals.leased),
        to_string(totals.archived),
        to_string(totals.dead),
        in_words(runs),
        totals.workers_live,
        totals.workers_lost,
        to_string(totals.workers_stopped),
        totals.schema_version
    );
    if (!queues.empty()) text.append("\n").append(queue_table(context.view(), queues));
    context.answer(json, text);
    return ExitCode::ok;
}

ExitCode info(const Context& context) {
    const auto info = context.connect().info();
    context.answer(
        to_json(info),
        fmt::format(
            "url      {}\n"
            "backend  {}\n"
            "schema   {}\n"
            "lease    {}, heartbeat {}\n"
            "payload  up to {} bytes",
            info.url,
            info.backend,
            info.schema,
            short_duration(info.options.lease),
            short_duration(info.options.heartbeat),
            info.options.max_payload_bytes
        )
    );
    return ExitCode::ok;
}

}  // namespace

void add_stats_command(const Command& root) {
    root.add("info", "Show where the store is, and its options")
        .examples("  pawl info\n  pawl info --json")
        .run(info);
    root.add("stats", "Show totals of the store, and a table of its queues")
        .examples("  pawl stats\n  pawl stats --json")
        .run(stats);
}

}  // namespace pawl::cli
