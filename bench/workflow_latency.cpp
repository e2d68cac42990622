#include "workflow_latency.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "child.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int warm_up = 20;
constexpr const char* pawl_site = "latency_pawl";
constexpr const char* bare_site = "latency_bare";

double percentile(std::vector<double> values, double part) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// In microseconds.
std::vector<double> times_of(int runs, const std::function<void()>& one_run) {
    for (int i = 0; i < warm_up; ++i) one_run();
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
        const auto start = Clock::now();
        one_run();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    return times;
}

std::vector<double> pawl_times(const WorkflowSite& site, int runs) {
    const Child worker({latency_child_word, site.backend(), pawl_site, "pawl"});
    const auto workflow = pawl::workflow(workflow_name);
    return times_of(runs, [&] {
        const auto run =
            workflow.trigger(pawl::Json(std::string(small_json))).execute(site.store());
        (void)run.wait(30s);
    });
}

std::vector<double> bare_times(const WorkflowSite& site, int runs) {
    const Child worker({latency_child_word, site.backend(), bare_site, "bare"});
    const auto bare = site.bare();
    bare->listen(Side::waiter);
    return times_of(runs, [&] {
        const auto run = bare->trigger(1);
        const auto deadline = Clock::now() + 30s;
        while (!bare->succeeded(run)) {
            if (Clock::now() > deadline)
                throw std::runtime_error("the bare worker does not answer");
            bare->wait(1s);
        }
    });
}

void pawl_worker(const WorkflowSite& site) {
    auto worker =
        pawl::worker("latency")
            .handle(
                workflow_name,
                [](pawl::Context& context, const pawl::Json& input) {
                    return context.step(std::string(step_names[0]), [&] { return input; });
                }
            )
            .create(site.store());
    Child::say_ready();
    worker.poll_forever();
}

[[noreturn]] void bare_worker(const WorkflowSite& site) {
    const auto bare = site.bare();
    bare->listen(Side::worker);
    Child::say_ready();
    while (true) {
        while (bare->work(1, 1) > 0) {
        }
        bare->wait(1s);
    }
}

void append(std::vector<double>& all, const std::vector<double>& some) {
    all.insert(all.end(), some.begin(), some.end());
}

}  // namespace

// Only one site exists at a time: SQLite's watches see every write in the folder.
void latency(WorkflowSiteFactory open, const WorkflowOptions& options, Report& report) {
    Pairs halves;
    std::vector<double> all_ours;
    std::vector<double> all_bare;
    std::string backend;
    for (int round = 0; round < options.rounds; ++round) {
        {
            const auto site = open(bare_site, Place::fresh);
            append(all_bare, bare_times(*site, options.latency_runs));
        }
        const auto site = open(pawl_site, Place::fresh);
        backend = site->backend();
        append(all_ours, pawl_times(*site, options.latency_runs));
        const auto last = [&](const std::vector<double>& all) {
            return percentile({all.end() - options.latency_runs, all.end()}, 0.5);
        };
        halves.add(last(all_ours), last(all_bare));
    }
    const nlohmann::json params{{"steps", 1}, {"runs", options.rounds * options.latency_runs}};
    report.add(halves.result("latency p50", backend, params, "us"));
    Pairs ends;
    ends.add(percentile(all_ours, 0.99), percentile(all_bare, 0.99));
    report.add(ends.result("latency p99", backend, params, "us"));
}

void latency_child(WorkflowSiteFactory open, const std::string& site_name, const std::string& who) {
    const auto site = open(site_name, Place::existing);
    if (who == "bare") bare_worker(*site);
    pawl_worker(*site);
    std::exit(0);
}

}  // namespace bench
