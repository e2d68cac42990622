// The queue: drains against a bare loop, claims in a full store against an empty one, idle cost.
#include "queue_bench.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <functional>
#include <mutex>

#include "engine/access.h"
#include "engine/claim_stream.h"
#include "seam/backend.h"
#include "site.h"
#include "usage.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using SiteFactory = std::function<std::unique_ptr<Site>(const std::string&)>;
using namespace std::chrono_literals;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

pawl::QueueOptions without_archive() {
    pawl::QueueOptions options;
    options.keep_archive = false;
    return options;
}

// Measures from the start of the worker until every message is handled and settled.
double drain(Site& site, const std::string& queue, int messages, int consumers, int batch) {
    std::mutex mutex;
    std::condition_variable all_handled;
    int handled = 0;
    auto worker = pawl::worker("bench")
                      .on_batch(
                          queue,
                          batch,
                          [&](std::span<const pawl::Message> taken) {
                              const std::lock_guard lock(mutex);
                              handled += static_cast<int>(taken.size());
                              if (handled >= messages) all_handled.notify_one();
                          }
                      )
                      .concurrency(consumers)
                      .create(site.store());
    const auto start = Clock::now();
    worker.start();
    {
        std::unique_lock lock(mutex);
        all_handled.wait(lock, [&] { return handled >= messages; });
    }
    worker.stop(60s);
    return seconds_since(start);
}

void drains(const SiteFactory& open, const Options& options, Report& report) {
    for (const int batch : {50, 10, 1}) {
        for (const int consumers : {1, 2, 4}) {
            // With one message per commit, 50,000 would take minutes.
            const int messages = (batch == 1 ? 5'000 : 50'000) / options.scale;
            const auto site = open("drain");
            site->store().create_queue("q", without_archive());
            Pairs pairs;
            for (int round = 0; round < options.rounds; ++round) {
                site->fill_ready("q", messages);
                site->tidy();
                const double bare = site->bare_drain("q", consumers, batch);
                site->fill_ready("q", messages);
                site->tidy();
                const double ours = drain(*site, "q", messages, consumers, batch);
                pairs.add(messages / ours, messages / bare);
            }
            report.add(pairs.result(
                "drain",
                site->backend(),
                {{"messages", messages}, {"consumers", consumers}, {"batch", batch}},
                "messages/s"
            ));
        }
    }
}

// Claims and removes `messages` in batches of 50, like a worker, over the given queues.
double claim_rate(Site& site, const std::vector<std::string>& queues, int messages) {
    auto& backend = *pawl::detail::Access::backend(site.store());
    pawl::engine::ClaimStream stream(backend, {}, {});
    stream.set_queues(backend.resolve_queues(queues));
    int done = 0;
    const auto start = Clock::now();
    while (done < messages) {
        const auto claim = stream.next(50, pawl::seam::Scan::streaming);
        std::vector<pawl::seam::Write> writes;
        for (const auto& message : claim.messages)
            writes.push_back({message.lease(), pawl::seam::Remove{}});
        for (const auto& outcome : backend.commit(writes, pawl::seam::Attempt::first))
            done += outcome.status == pawl::seam::WriteStatus::done ? 1 : 0;
    }
    return messages / seconds_since(start);
}

// The cost of other data in the store, in interleaved pairs with an empty one.
void full_store(const SiteFactory& open, const Options& options, Report& report) {
    const int rows = 1'000'000 / options.scale;
    const int messages = 20'000;
    const auto empty = open("empty");
    const auto full = open("full");
    for (auto* site : {empty.get(), full.get()}) site->store().create_queue("q", without_archive());
    full->fill_waiting("q", rows);
    full->fill_archive("q", rows);
    full->tidy();
    Pairs pairs;
    for (int pair = 0; pair < options.pairs; ++pair) {
        for (auto* site : {empty.get(), full.get()}) {
            site->fill_ready("q", messages);
            site->tidy();
        }
        const double base = claim_rate(*empty, {"q"}, messages);
        pairs.add(claim_rate(*full, {"q"}, messages), base);
    }
    report.add(pairs.result(
        "claim in full store",
        full->backend(),
        {{"waiting", rows}, {"archived", rows}, {"batch", 50}},
        "messages/s"
    ));
}

void many_queues(const SiteFactory& open, const Options& options, Report& report) {
    const int messages = 20'000;
    const auto one = open("one");
    const auto many = open("many");
    one->store().create_queue("q", without_archive());
    std::vector<std::string> names;
    for (int i = 0; i < 1'000; ++i) {
        names.push_back(fmt::format("q{}", i));
        many->store().create_queue(names.back(), without_archive());
    }
    Pairs pairs;
    for (int pair = 0; pair < options.pairs; ++pair) {
        one->fill_ready("q", messages);
        for (int i = 0; i < 10; ++i) many->fill_ready(fmt::format("q{}", i * 100), messages / 10);
        one->tidy();
        many->tidy();
        const double base = claim_rate(*one, {"q"}, messages);
        pairs.add(claim_rate(*many, names, messages), base);
    }
    report.add(pairs.result(
        "claim over queues",
        many->backend(),
        {{"queues", 1'000}, {"with_work", 10}, {"batch", 50}},
        "messages/s"
    ));
}

void idle(const SiteFactory& open, const Options& options, Report& report) {
    const auto site = open("idle");
    site->store().create_queue("q");
    auto worker =
        pawl::worker("idle").on_message("q", [](const pawl::Message&) {}).create(site->store());
    worker.start();
    const auto period = 20s / options.scale;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, 2s, [] { return false; });
    const double cpu = process_usage().cpu_seconds;
    const double transactions = site->transactions();
    const auto start = Clock::now();
    never.wait_for(lock, period, [] { return false; });
    const double passed = seconds_since(start);
    report.add(
        {"idle",
         site->backend(),
         {{"consumers", 1}},
         (process_usage().cpu_seconds - cpu) / passed * 100,
         "% CPU"}
    );
    if (transactions < 0) return;
    report.add(
        {"idle",
         site->backend(),
         {{"consumers", 1}},
         (site->transactions() - transactions) / passed,
         "queries/s"}
    );
}

}  // namespace

void queue_bench(const Options& options, Report& report) {
    std::vector<SiteFactory> sites;
    if (options.postgres) sites.emplace_back(postgres_site);
    if (options.sqlite) sites.emplace_back(sqlite_site);
    for (const auto& open : sites) {
        if (options.drains) drains(open, options, report);
        if (options.claims) full_store(open, options, report);
        if (options.claims) many_queues(open, options, report);
        if (options.idle) idle(open, options, report);
    }
}

}  // namespace bench
