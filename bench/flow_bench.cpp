// Flows: drains of diamonds (1 -> 2 -> 1) against a bare program that writes the same rows; the
// cost of finished runs and of other flows; large maps against many small ones.
#include "flow_bench.h"

#include <algorithm>
#include <functional>

#include "flow_rounds.h"
#include "flow_site.h"

namespace bench {

namespace {

constexpr int large_batch = 500;
constexpr int small_batch = 50;

// One way to execute the tasks, over all rounds.
struct Way {
    std::string workload;
    nlohmann::json params;
    std::function<FlowRound()> round;
    std::vector<FlowRound> rounds = {};
};

Pairs pairs(const Way& ours, const Way& bare, auto figure) {
    Pairs result;
    for (std::size_t i = 0; i < ours.rounds.size(); ++i)
        result.add(figure(ours.rounds[i]), figure(bare.rounds[i]));
    return result;
}

auto tasks_per_second(int tasks) {
    return [tasks](const FlowRound& round) { return tasks / round.seconds; };
}

// The fastest bare way with this batch size.
const Way& ceiling(const std::vector<Way>& ways, int batch, int tasks) {
    const Way* best = nullptr;
    double most = 0;
    for (const Way& way : ways) {
        if (way.workload != "drain bare" || way.params["batch"] != batch) continue;
        const double value = median(pairs(way, way, tasks_per_second(tasks)).ours);
        if (best == nullptr || value > most) best = &way, most = value;
    }
    return *best;
}

// The bare way with the same number of connections; null if it is the ceiling or was not measured.
const Way* alike(const std::vector<Way>& ways, const Way& way, const Way& ceiling) {
    for (const Way& bare : ways) {
        const bool fits = bare.workload == "drain bare" &&
                          bare.params["batch"] == way.params.value("batch", 0) &&
                          bare.params["connections"] == way.params.value("connections", 0);
        if (fits) return &bare == &ceiling ? nullptr : &bare;
    }
    return nullptr;
}

void add_costs(const Way& way, const Way& bare, const FlowSite& site, int tasks, Report& report) {
    const auto add = [&](const std::string& unit, auto figure) {
        report.add(pairs(way, bare, [&](const FlowRound& round) {
                       return figure(round) / tasks;
                   }).result(way.workload, site.backend(), way.params, unit));
    };
    add("us CPU/task", [](const FlowRound& round) { return round.used.cpu_seconds * 1e6; });
    if (!site.has_server()) return;
    add("rows/task", [](const FlowRound& round) { return round.counts.rows; });
    add("commits/task", [](const FlowRound& round) { return round.counts.commits; });
    add("trips/task", [](const FlowRound& round) { return round.round_trips; });
}

void add_drains(const std::vector<Way>& ways, const FlowSite& site, int tasks, Report& report) {
    for (const Way& way : ways) {
        if (way.workload != "drain bare") continue;
        const double value = median(pairs(way, way, tasks_per_second(tasks)).ours);
        report.add({way.workload, site.backend(), way.params, value, "tasks/s"});
    }
    for (const Way& way : ways) {
        if (way.workload == "drain bare") continue;
        const int batch = way.params.value("batch", large_batch);
        const Way& bare = ceiling(ways, batch, tasks);
        report.add(pairs(way, bare, tasks_per_second(tasks))
                       .result(way.workload, site.backend(), way.params, "tasks/s"));
        if (const Way* same = alike(ways, way, bare))
            report.add(pairs(way, *same, tasks_per_second(tasks))
                           .result(way.workload + " alike", site.backend(), way.params, "tasks/s"));
        add_costs(way, bare, site, tasks, report);
    }
}

void drains(FlowSiteFactory open, const FlowBenchOptions& options, Report& report) {
    const auto site = open("drain");
    const int runs = options.runs;
    std::vector<Way> ways;
    const auto add_takers = [&](const char* workload, Takers takers, int connections, int batch) {
        ways.push_back(
            {workload,
             {{"runs", runs}, {"connections", connections}, {"batch", batch}},
             [=, &site] { return taker_drain(*site, runs, takers, connections, batch); }}
        );
    };
    const auto add_bare = [&](int batch) {
        for (int n = 1; n <= site->bare_connections(); ++n)
            add_takers("drain bare", Takers::bare, n, batch);
    };
    add_bare(large_batch);
    ways.push_back({"drain", {{"runs", runs}, {"concurrency", 512}}, [&] {
                        return worker_drain(*site, runs);
                    }});
    if (site->has_server()) {
        add_bare(small_batch);
        for (const int connections : {1, 4})
            add_takers("drain sql", Takers::sql, connections, small_batch);
    }
    for (int round = 0; round < options.rounds; ++round) {
        for (Way& way : ways) {
            site->clear();
            start_diamonds(*site, runs);
            site->tidy();
            way.rounds.push_back(way.round());
        }
    }
    add_drains(ways, *site, runs * diamond_tasks, report);
}

// Drains in a store with other data, against drains in an empty one.
void drains_beside(
    const std::string& workload,
    const nlohmann::json& params,
    FlowSiteFactory open,
    const FlowBenchOptions& options,
    const std::function<void(FlowSite&)>& fill,
    int finished,
    Report& report
) {
    const auto empty = open(workload + "_empty");
    const auto full = open(workload + "_full");
    fill(*full);
    full->tidy();
    const int runs = options.runs;
    const auto drain = [&](FlowSite& site, int before) {
        start_diamonds(site, runs);
        site.tidy();
        return runs * diamond_tasks / worker_drain(site, runs, before).seconds;
    };
    Pairs all;
    for (int round = 0; round < options.rounds; ++round) {
        empty->clear();
        const double alone = drain(*empty, 0);
        all.add(drain(*full, finished + round * runs), alone);
    }
    report.add(all.result(workload, full->backend(), params, "tasks/s"));
}

void maps(FlowSiteFactory open, const FlowBenchOptions& options, Report& report) {
    const auto site = open("map");
    const int large = options.map_elements;
    const int small = large / 10;
    const auto rate = [&](int runs, int elements) {
        site->clear();
        site->tidy();
        return runs * elements / map_drain(*site, runs, elements).seconds;
    };
    Pairs against_ten;
    Pairs against_one;
    for (int round = 0; round < options.rounds; ++round) {
        const double one = rate(1, small);
        const double ten = rate(10, small);
        const double all = rate(1, large);
        against_ten.add(all, ten);
        against_one.add(all, one);
    }
    const auto params = [&](int runs) {
        return nlohmann::json{
            {"elements", large}, {"against", {{"runs", runs}, {"elements", small}}}};
    };
    report.add(against_ten.result("map", site->backend(), params(10), "elements/s"));
    report.add(against_one.result("map", site->backend(), params(1), "elements/s"));
}

}  // namespace

void flow_bench(const FlowBenchOptions& options, Report& report) {
    std::vector<FlowSiteFactory> sites;
    if (options.postgres) sites.push_back(postgres_flow_site);
    if (options.sqlite) sites.push_back(sqlite_flow_site);
    for (const auto open : sites) {
        if (options.drain) drains(open, options, report);
        if (options.steps) {
            const int flows = options.other_flows;
            const int steps = options.other_steps;
            drains_beside(
                "steps",
                {{"runs", options.runs}, {"other_flows", flows}, {"steps", steps}},
                open,
                options,
                [=](FlowSite& site) { site.fill_other_flows(flows, steps); },
                0,
                report
            );
        }
        if (options.map) maps(open, options, report);
        if (options.finished) {
            const int finished = options.finished_runs;
            drains_beside(
                "finished",
                {{"runs", options.runs}, {"finished_runs", finished}},
                open,
                options,
                [=](FlowSite& site) { site.fill_finished(finished); },
                finished,
                report
            );
        }
    }
}

}  // namespace bench
