// Retention: drains while the worker prunes a million old runs, against drains without pruning; and
// the rate of pruning, during work and alone.
#include "retention_bench.h"

#include <array>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "workflow_rounds.h"
#include "workflow_site.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const std::string old_workflow = "old";

enum class Pruning { off, on };

struct PrunedRound {
    double runs_per_second = 0;
    double pruned_per_second = 0;
};

double elapsed_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t old_left(const pawl::Store& store) {
    return store.count_runs({.workflow = old_workflow}, 1'000'000).success;
}

// All runs exist already; they have three steps.
PrunedRound drain_beside(const WorkflowSite& site, int runs, Pruning pruning) {
    pawl::ConnectOptions options;
    options.log = nullptr;
    if (pruning == Pruning::off) options.prune_interval = 0ms;
    const pawl::Store store = pawl::connect(site.url(), options);
    std::atomic<int> left = runs;
    std::binary_semaphore all{0};
    auto worker = pawl::worker("bench")
                      .handle(
                          workflow_name,
                          [&](pawl::Context& context, const pawl::Json& input) {
                              for (const auto name : step_names)
                                  context.step(std::string(name), [] {
                                      return pawl::Json(std::string(small_json));
                                  });
                              if (left.fetch_sub(1) == 1) all.release();
                              return input;
                          }
                      )
                      .concurrency(512)
                      .share_threads(true)
                      .create(store);
    // The worker has started, and its pruner is in the middle of a pass, before the first run is
    // claimed.
    const pawl::Queue queue = store.queue(workflow_name);
    queue.pause();
    worker.start();
    std::this_thread::sleep_for(3s);
    const auto old_before = old_left(store);
    const auto start = Clock::now();
    queue.resume();
    if (!all.try_acquire_for(5min)) throw std::runtime_error("the worker has not finished in time");
    const double seconds = elapsed_since(start);
    worker.stop(60s);
    const auto pruned = static_cast<double>(old_before - old_left(store));
    if (pruning == Pruning::on && pruned == 0) throw std::runtime_error("nothing was pruned");
    return {runs / seconds, pruned / seconds};
}

void prune_alone(const WorkflowSite& site, const RetentionOptions& options, Report& report) {
    const auto left = old_left(site.store());
    const auto keep = std::max<std::int64_t>(0, left - options.pruned_alone);
    site.store().set_retention(pawl::RetentionKind::success, old_workflow, {.count = keep});
    const auto start = Clock::now();
    const auto pruned = static_cast<double>(site.store().prune({.share = 100}).total());
    report.add(
        {"prune alone",
         site.backend(),
         {{"old_runs", left}, {"steps", 3}},
         pruned / elapsed_since(start),
         "runs/s"}
    );
}

void rounds_on(WorkflowSiteFactory open, const RetentionOptions& options, Report& report) {
    const auto site = open("retention", Place::fresh);
    site->store().create_workflow(old_workflow);
    site->fill_ended(site->store().workflow_info(old_workflow).queue.value(), options.old_runs);
    site->store().set_retention(pawl::RetentionKind::success, old_workflow, {.age = 0ms});
    Pairs drains;
    std::vector<double> rates;
    for (int round = 0; round < options.rounds; ++round) {
        std::array<double, 2> rate{};
        // The order alternates, so that what a round leaves behind affects both equally.
        for (const int turn : {round % 2, 1 - round % 2}) {
            trigger_runs(*site, options.runs);
            site->tidy();
            const auto done =
                drain_beside(*site, options.runs, turn == 1 ? Pruning::on : Pruning::off);
            rate[static_cast<std::size_t>(turn)] = done.runs_per_second;
            if (turn == 1) rates.push_back(done.pruned_per_second);
        }
        drains.add(rate[1], rate[0]);
    }
    const nlohmann::json params{{"runs", options.runs}, {"old_runs", options.old_runs}};
    report.add(drains.result("drain while pruning", site->backend(), params, "runs/s"));
    report.add({"pruned beside", site->backend(), params, median(rates), "runs/s"});
    prune_alone(*site, options, report);
}

}  // namespace

void retention_bench(const RetentionOptions& options, Report& report) {
    if (options.postgres) rounds_on(postgres_workflow_site, options, report);
    if (options.sqlite) rounds_on(sqlite_workflow_site, options, report);
}

}  // namespace bench
