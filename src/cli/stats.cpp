// pawl stats, and the table it shares with `queue stats`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/queue_table.h"
#include "cli/render.h"
#include "cli/run_text.h"
#include "cli/table.h"

namespace pawl::cli {

std::string queue_table(const std::vector<QueueStats>& queues) {
    Table table(
        {{"QUEUE"},
         {"READY", Align::right},
         {"WAITING", Align::right},
         {"LEASED", Align::right},
         {"ARCHIVED", Align::right},
         {"DEAD", Align::right},
         {"OLDEST READY", Align::right},
         {"STATE"}}
    );
    for (const auto& queue : queues) {
        table.add(
            {queue.queue,
             std::to_string(queue.ready),
             std::to_string(queue.waiting),
             std::to_string(queue.leased),
             std::to_string(queue.archived),
             std::to_string(queue.dead),
             queue.oldest_ready_age ? short_duration(*queue.oldest_ready_age) : "-",
             queue.paused ? "paused" : "active"}
        );
    }
    return table.text(terminal_width());
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
        totals.ready,
        totals.waiting,
        totals.leased,
        totals.archived,
        totals.dead,
        in_words(runs),
        totals.workers_live,
        totals.workers_lost,
        totals.workers_stopped,
        totals.schema_version
    );
    if (!queues.empty()) text.append("\n").append(queue_table(queues));
    context.answer(json, text);
    return ExitCode::ok;
}

}  // namespace

void add_stats_command(const Command& root) {
    root.add("stats", "Totals of the whole store and a table of its queues")
        .examples("  pawl stats\n  pawl stats --json")
        .run(stats);
}

}  // namespace pawl::cli
