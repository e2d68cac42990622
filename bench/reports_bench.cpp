#include "reports_bench.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "reports_fill.h"
#include "workflow_site.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Call {
    const char* name;
    std::function<void(const pawl::Store&)> run;
};

std::vector<Call> calls() {
    using pawl::RunFilter;
    using pawl::RunStatus;
    const auto list = [](RunFilter filter) {
        return [filter](const pawl::Store& store) { (void)store.runs(filter); };
    };
    const auto count = [](RunFilter filter) {
        return [filter](const pawl::Store& store) { (void)store.count_runs(filter); };
    };
    // Near the oldest runs, which begin there, one per second.
    const pawl::Timestamp early{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};
    return {
        {"stats", [](const pawl::Store& store) { (void)store.stats(); }},
        {"queue_stats", [](const pawl::Store& store) { (void)store.queue_stats(); }},
        {"stats of one queue", [](const pawl::Store& store) { (void)store.queue("q7").stats(); }},
        {"workflow_metrics", [](const pawl::Store& store) { (void)store.workflow_metrics("wf1"); }},
        {"list_messages, empty",
         [](const pawl::Store& store) {
             (void)store.queue("q200").list(pawl::MessageState::ready);
         }},
        {"list_archive, empty",
         [](const pawl::Store& store) { (void)store.queue("q200").archived(); }},
        {"purge, empty", [](const pawl::Store& store) { (void)store.queue("q200").purge(); }},
        {"list", list({})},
        {"list of a workflow", list({.workflow = "wf7"})},
        {"list QUEUED", list({.status = RunStatus::queued})},
        {"list RUNNING", list({.status = RunStatus::running})},
        {"list PAUSED", list({.status = RunStatus::paused})},
        {"list SUCCESS", list({.status = RunStatus::success})},
        {"list ERROR", list({.status = RunStatus::error})},
        {"list CANCELLED", list({.status = RunStatus::cancelled})},
        {"list created_before", list({.created_before = early})},
        {"list tag", list({.tag = "rare7"})},
        {"list tag, CANCELLED", list({.status = RunStatus::cancelled, .tag = "popular"})},
        {"list key", list({.idempotency_key = "k300"})},
        {"list key, deleted", list({.idempotency_key = "k300", .include_deleted = true})},
        {"count", count({})},
        {"count of a workflow", count({.workflow = "wf7"})},
        {"count QUEUED", count({.status = RunStatus::queued})},
        {"count tag", count({.tag = "popular"})},
    };
}

void measure(const WorkflowSite& site, const ReportsOptions& options, Report& report) {
    for (const Call& call : calls()) {
        std::vector<double> times;
        for (int round = 0; round < options.rounds; ++round) {
            const auto start = Clock::now();
            call.run(site.store());
            times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count()
            );
        }
        report.add(
            {call.name,
             site.backend(),
             {{"runs", options.runs}, {"queues", 225}},
             median(times),
             "ms"}
        );
    }
}

}  // namespace

void reports_bench(const ReportsOptions& options, Report& report) {
    if (options.postgres) {
        const auto site = postgres_workflow_site("reports", Place::fresh);
        fill_postgres_reports(
            std::getenv("PAWL_BENCH_POSTGRES_URL"), "bench_reports", options.runs
        );
        measure(*site, options, report);
    }
    if (options.sqlite) {
        const auto site = sqlite_workflow_site("reports", Place::fresh);
        fill_sqlite_reports(site->url().substr(std::string("sqlite:").size()), options.runs);
        measure(*site, options, report);
    }
}

}  // namespace bench
