#include "cli/demo_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "cli/demo.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/values.h"

namespace pawl::cli {

namespace {

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

DemoReport look_into_archive(const Store& store, const DemoFacts& facts) {
    DemoReport report;
    report.enqueued = static_cast<int>(facts.enqueued.size());
    report.held = static_cast<int>(facts.held.size());
    report.victim = facts.victim.name;
    report.elapsed = facts.elapsed;
    std::map<WorkerId, DemoReport::Share> shares;
    for (const auto& worker : store.workers()) shares[worker.id].name = worker.name;
    std::set<MessageId> missing(facts.enqueued.begin(), facts.enqueued.end());
    const auto page = PageRequest{.after = {}, .limit = demo::message_count + 1};
    for (const auto& message : store.queue(demo::queue_name).archived(ArchiveFilter::done, page)) {
        report.archived += static_cast<int>(missing.erase(message.id));
        report.redelivered += message.delivery > 1 ? 1 : 0;
        auto& share = shares[message.worker];
        ++share.done;
        const bool was_held = std::ranges::find(facts.held, message.id) != facts.held.end();
        if (!was_held || message.worker == facts.victim.id) continue;
        ++share.taken_over;
        ++report.held_done_by_others;
        const auto after_kill =
            std::chrono::duration_cast<Duration>(message.archived_at - facts.killed_at);
        report.takeover = std::max(report.takeover, after_kill);
    }
    for (auto& [id, share] : shares) report.shares.push_back(std::move(share));
    std::ranges::sort(report.shares, {}, &DemoReport::Share::name);
    return report;
}

std::string DemoReport::as_text() const {
    Table table({{"  WORKER"}, {"DONE", Align::right}, {"TAKEN OVER", Align::right}, {""}});
    for (const auto& share : shares) {
        table.add(
            {"  " + share.name,
             std::to_string(share.done),
             std::to_string(share.taken_over),
             share.name == victim ? "killed" : ""}
        );
    }
    return fmt::format(
        "  took over  {} of {} by the others when the lease ended, {:.1f} s after the kill\n"
        "  archived   {} of {} messages in {:.1f} s\n\n{}\n"
        "{} message{} delivered a second time; {}",
        held_done_by_others,
        held,
        seconds(takeover),
        archived,
        enqueued,
        seconds(elapsed),
        table.text(0),
        redelivered,
        redelivered == 1 ? " was" : "s were",
        nothing_lost() ? "none was lost." : "SOMETHING WAS LOST, which is a bug in pawl."
    );
}

std::string DemoReport::as_json() const {
    std::vector<std::string> workers;
    for (const auto& share : shares)
        workers.push_back(json_object(
            {{"name", share.name},
             {"done", share.done},
             {"taken_over", share.taken_over},
             {"killed", share.name == victim}}
        ));
    const auto summary = json_object(
        {{"ok", nothing_lost()},
         {"enqueued", enqueued},
         {"archived", archived},
         {"redelivered", redelivered},
         {"held_by_killed_worker", held},
         {"takeover_ms", takeover.count()},
         {"elapsed_ms", elapsed.count()}}
    );
    return with_field(summary, "workers", json_array(workers));
}

}  // namespace pawl::cli
