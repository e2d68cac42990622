// The outbox: a dispatcher delivers events of one, ten and a thousand aggregates to a sink that
// does nothing, alternately in a store with a history of published events and in one without.
#include "outbox_bench.h"

#include <array>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>

#include "workflow_site.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Events per second until the last one is reported.
double deliver(const WorkflowSite& site, int events) {
    std::atomic<int> left = events;
    std::binary_semaphore all{0};
    auto dispatcher = pawl::dispatcher(site.store(), [&](const pawl::OutboxEvent&) {
        if (left.fetch_sub(1) == 1) all.release();
        return pawl::SinkResult{};
    });
    const auto start = Clock::now();
    dispatcher.start();
    if (!all.try_acquire_for(10min)) throw std::runtime_error("the dispatcher does not finish");
    dispatcher.stop();
    return events / std::chrono::duration<double>(Clock::now() - start).count();
}

void rounds_on(WorkflowSiteFactory open, const OutboxBenchOptions& options, Report& report) {
    const auto plain = open("outbox", Place::fresh);
    const auto old = open("outbox_old", Place::fresh);
    old->fill_outbox("PUBLISHED", options.published, 1000);
    for (const int aggregates : {1, 10, 1000}) {
        Pairs rates;
        for (int round = 0; round < options.rounds; ++round) {
            std::array<double, 2> rate{};
            // The order alternates.
            for (const int turn : {round % 2, 1 - round % 2}) {
                WorkflowSite& site = turn == 1 ? *old : *plain;
                if (turn == 0) site.clear_outbox();
                site.fill_outbox("PENDING", options.events, aggregates);
                rate[static_cast<std::size_t>(turn)] = deliver(site, options.events);
            }
            rates.add(rate[1], rate[0]);
        }
        report.add(rates.result(
            "outbox with a history",
            plain->backend(),
            {{"events", options.events},
             {"aggregates", aggregates},
             {"published", options.published}},
            "events/s"
        ));
    }
}

}  // namespace

void outbox_bench(const OutboxBenchOptions& options, Report& report) {
    if (options.postgres) rounds_on(postgres_workflow_site, options, report);
    if (options.sqlite) rounds_on(sqlite_workflow_site, options, report);
}

}  // namespace bench
