// Workflows: drains, drains with concurrent triggers, latency, and the resumption of crashed runs,
// each against a bare program that writes the same rows.
#include "workflow_bench.h"

#include <fmt/format.h>

#include "workflow_latency.h"
#include "workflow_rounds.h"
#include "workflow_site.h"

namespace bench {

namespace {

// The rounds of one workload, with each number of bare connections.
struct Rounds {
    std::vector<Round> ours;
    std::vector<std::vector<Round>> bare;  // [connections - 1]
};

double rate(int runs, const Round& round) {
    return runs / round.seconds;
}

Pairs pairs(const Rounds& rounds, std::size_t connections, auto figure) {
    Pairs result;
    const auto& bare = rounds.bare[connections - 1];
    for (std::size_t i = 0; i < bare.size(); ++i)
        result.add(figure(rounds.ours[i]), figure(bare[i]));
    return result;
}

// The ceiling is the fastest number of connections; all are printed.
void add_drain(
    const std::string& workload,
    const WorkflowSite& site,
    const Rounds& rounds,
    int runs,
    Threads threads,
    Report& report
) {
    const auto runs_per_second = [&](const Round& round) { return rate(runs, round); };
    std::size_t best = 1;
    for (std::size_t n = 1; n <= rounds.bare.size(); ++n) {
        const double value = median(pairs(rounds, n, runs_per_second).bare);
        if (value > median(pairs(rounds, best, runs_per_second).bare)) best = n;
        report.add(
            {workload + " bare",
             site.backend(),
             {{"runs", runs}, {"steps", 3}, {"connections", n}},
             value,
             "runs/s"}
        );
    }
    const nlohmann::json params{
        {"runs", runs}, {"concurrency", 512}, {"share_threads", threads == Threads::shared}};
    report.add(
        pairs(rounds, best, runs_per_second).result(workload, site.backend(), params, "runs/s")
    );
    const auto cpu = [&](const Round& round) { return round.used.cpu_seconds * 1e6 / runs; };
    report.add(
        pairs(rounds, best, cpu).result(workload + " client", site.backend(), params, "us CPU/run")
    );
    const auto switches = [&](const Round& round) { return round.used.context_switches / runs; };
    report.add(pairs(rounds, best, switches)
                   .result(workload + " client", site.backend(), params, "sleeps/run"));
}

void drains(
    WorkflowSiteFactory open,
    const WorkflowOptions& options,
    Triggering triggering,
    Threads threads,
    Report& report
) {
    const std::string workload = triggering == Triggering::before ? "drain" : "end_to_end";
    const auto site = open(workload, Place::fresh);
    const auto prepare = [&] {
        site->clear();
        if (triggering == Triggering::before) trigger_runs(*site, options.runs);
        site->tidy();
    };
    Rounds rounds;
    rounds.bare.resize(static_cast<std::size_t>(site->bare_connections()));
    for (int round = 0; round < options.rounds; ++round) {
        for (int connections = 1; connections <= site->bare_connections(); ++connections) {
            prepare();
            rounds.bare[static_cast<std::size_t>(connections - 1)].push_back(
                bare_drain(*site, options.runs, connections, triggering)
            );
        }
        prepare();
        rounds.ours.push_back(drain(*site, options.runs, triggering, threads));
    }
    add_drain(workload, *site, rounds, options.runs, threads, report);
}

void resumes(WorkflowSiteFactory open, const WorkflowOptions& options, Report& report) {
    const int runs = options.resumed_runs;
    const auto site = open("resume", Place::fresh);
    const auto prepare = [&] {
        site->clear();
        make_crashed_runs(*site, runs);
        site->tidy();
    };
    Pairs all;
    for (int round = 0; round < options.rounds; ++round) {
        prepare();
        const Round bare = bare_resume(*site, runs);
        prepare();
        all.add(rate(runs, resume(*site, runs)), rate(runs, bare));
    }
    report.add(all.result(
        "resume", site->backend(), {{"runs", runs}, {"steps", 3}, {"recorded", 2}}, "runs/s"
    ));
}

// A worker with metrics against one without.
void metered_drains(WorkflowSiteFactory open, const WorkflowOptions& options, Report& report) {
    const auto site = open("metrics", Place::fresh);
    const auto drained = [&](Metrics metrics) {
        site->clear();
        trigger_runs(*site, options.runs);
        site->tidy();
        return drain(*site, options.runs, Triggering::before, Threads::shared, metrics);
    };
    Pairs rates;
    Pairs cpu;
    for (int round = 0; round < options.rounds; ++round) {
        const Round without = drained(Metrics::off);
        const Round with = drained(Metrics::on);
        rates.add(rate(options.runs, with), rate(options.runs, without));
        cpu.add(
            with.used.cpu_seconds * 1e6 / options.runs,
            without.used.cpu_seconds * 1e6 / options.runs
        );
    }
    const nlohmann::json params{{"runs", options.runs}, {"against", "no metrics"}};
    report.add(rates.result("metrics", site->backend(), params, "runs/s"));
    report.add(cpu.result("metrics client", site->backend(), params, "us CPU/run"));
}

}  // namespace

void workflow_bench(const WorkflowOptions& options, Report& report) {
    std::vector<WorkflowSiteFactory> sites;
    if (options.postgres) sites.push_back(postgres_workflow_site);
    if (options.sqlite) sites.push_back(sqlite_workflow_site);
    for (const auto open : sites) {
        for (const Threads threads : {Threads::shared, Threads::one_per_run}) {
            if (options.drain) drains(open, options, Triggering::before, threads, report);
        }
        if (options.end_to_end)
            drains(open, options, Triggering::meanwhile, Threads::shared, report);
        if (options.latency) latency(open, options, report);
        if (options.resume) resumes(open, options, report);
        if (options.metrics) metered_drains(open, options, report);
    }
}

}  // namespace bench
