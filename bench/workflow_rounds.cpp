#include "workflow_rounds.h"

#include <array>
#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <semaphore>
#include <thread>
#include <vector>

#include "engine/access.h"
#include "seam/backend.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int batch = 500;
constexpr int concurrency = 512;

Round timed(const std::function<void()>& work) {
    const Usage before = process_usage();
    const auto start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return {seconds, process_usage() - before};
}

void expect_success(const WorkflowSite& site, int runs) {
    const auto counts = site.store().count_runs({}, 1'000'000);
    if (counts.success == runs && counts.queued + counts.running + counts.error == 0) return;
    throw std::runtime_error(fmt::format(
        "{} of {} runs are SUCCESS ({} QUEUED, {} RUNNING, {} ERROR)",
        counts.success.value,
        runs,
        counts.queued.value,
        counts.running.value,
        counts.error.value
    ));
}

// The results of the worker's function.
struct Handled {
    explicit Handled(int runs) : left(runs) {}

    void one() {
        if (left.fetch_sub(1) == 1) all.release();
    }
    void wait_for_all() {
        if (!all.try_acquire_for(2min))
            throw std::runtime_error("the worker has not finished in time");
    }

    std::array<std::atomic<int>, step_names.size()> executions{};  // per step
    std::atomic<int> left;
    std::binary_semaphore all{0};
};

pawl::Worker make_worker(
    const WorkflowSite& site, Handled& handled, Threads threads, Metrics metrics
) {
    auto builder = pawl::worker("bench");
    if (metrics == Metrics::on) builder.metrics(0);
    return builder
        .handle(
            workflow_name,
            [&](pawl::Context& context, const pawl::Json& input) {
                for (std::size_t i = 0; i < step_names.size(); ++i) {
                    context.step(std::string(step_names[i]), [&] {
                        handled.executions[i].fetch_add(1, std::memory_order_relaxed);
                        return pawl::Json(std::string(small_json));
                    });
                }
                handled.one();
                return input;
            }
        )
        .concurrency(concurrency)
        .share_threads(threads == Threads::shared)
        .create(site.store());
}

// Threads that share the batches. Rethrows the first error of a thread.
void share_batches(int batches, int threads, const std::function<void(int thread)>& one_batch) {
    std::atomic<int> next = 0;
    std::vector<std::future<void>> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.push_back(std::async(std::launch::async, [&, thread] {
            while (next.fetch_add(1) < batches) one_batch(thread);
        }));
    }
    for (auto& one : all) one.get();
}

// Two connections that claim at the same time may get less than a batch; then they claim again.
// Throws if the runs do not exist.
void take_batch(const std::function<int(int wanted)>& take) {
    int missing = batch;
    for (int tries = 0; missing > 0; ++tries) {
        if (tries == 1'000) throw std::runtime_error("the bare program does not find its runs");
        missing -= take(missing);
    }
}

std::vector<pawl::seam::Write> checkpoints(const std::vector<pawl::Message>& runs, int step) {
    std::vector<pawl::seam::Write> writes;
    for (const auto& run : runs) {
        pawl::seam::StepWrite record;
        record.id = step_names.at(static_cast<std::size_t>(step));
        record.position = step;
        record.output = std::string(small_json);
        writes.push_back({run.lease(), pawl::seam::Checkpoint{std::move(record)}});
    }
    return writes;
}

}  // namespace

void trigger_runs(const WorkflowSite& site, int runs) {
    const std::vector<pawl::NewRun> some(
        batch, pawl::NewRun{workflow_name, pawl::Json(std::string(small_json)), {}}
    );
    for (int done = 0; done < runs; done += batch) site.store().trigger(some);
}

Round drain(
    const WorkflowSite& site, int runs, Triggering triggering, Threads threads, Metrics metrics
) {
    Handled handled(runs);
    auto worker = make_worker(site, handled, threads, metrics);
    const Round round = timed([&] {
        worker.start();
        std::future<void> trigger;
        if (triggering == Triggering::meanwhile)
            trigger = std::async(std::launch::async, [&] { trigger_runs(site, runs); });
        handled.wait_for_all();
        if (trigger.valid()) trigger.get();
        worker.stop(60s);
    });
    expect_success(site, runs);
    return round;
}

Round bare_drain(const WorkflowSite& site, int runs, int connections, Triggering triggering) {
    std::vector<std::unique_ptr<BareRuns>> bare;
    for (int i = 0; i < connections; ++i) bare.push_back(site.bare());
    const Round round = timed([&] {
        share_batches(runs / batch, connections, [&](int thread) {
            BareRuns& mine = *bare[static_cast<std::size_t>(thread)];
            if (triggering == Triggering::meanwhile) mine.trigger(batch);
            take_batch([&](int wanted) {
                return mine.work(wanted, static_cast<int>(step_names.size()));
            });
        });
    });
    expect_success(site, runs);
    return round;
}

void make_crashed_runs(const WorkflowSite& site, int runs) {
    trigger_runs(site, runs);
    auto& backend = *pawl::detail::Access::backend(site.store());
    pawl::seam::ClaimRequest request;
    request.queues = {site.store().workflow_info(workflow_name).queue};
    request.max_messages = batch;
    request.work = pawl::seam::Work::runs;
    const auto commit = [&](const std::vector<pawl::seam::Write>& writes) {
        for (const auto& outcome : backend.commit(writes, pawl::seam::Attempt::first)) {
            if (outcome.status != pawl::seam::WriteStatus::done)
                throw std::runtime_error("a run could not be prepared: " + outcome.error);
        }
    };
    std::vector<pawl::seam::Write> leases;
    while (leases.size() < static_cast<std::size_t>(runs)) {
        const auto claim = backend.claim(request);
        if (claim.messages.empty()) throw std::runtime_error("there are no runs to prepare");
        for (int step = 0; step < 2; ++step) commit(checkpoints(claim.messages, step));
        for (const auto& message : claim.messages) {
            leases.push_back({message.lease(), pawl::seam::Extend{10ms}});
        }
    }
    commit(leases);
    std::this_thread::sleep_for(50ms);
}

Round resume(const WorkflowSite& site, int runs) {
    Handled handled(runs);
    auto worker = make_worker(site, handled, Threads::shared, Metrics::off);
    const Round round = timed([&] {
        worker.start();
        handled.wait_for_all();
        worker.stop(60s);
    });
    expect_success(site, runs);
    const auto& executed = handled.executions;
    if (executed[0] + executed[1] != 0 || executed[2] != runs)
        throw std::runtime_error("a resumed run has executed a recorded step again");
    return round;
}

Round bare_resume(const WorkflowSite& site, int runs) {
    const auto bare = site.bare();
    const Round round = timed([&] {
        for (int done = 0; done < runs; done += batch)
            take_batch([&](int wanted) { return bare->resume(wanted); });
    });
    expect_success(site, runs);
    return round;
}

}  // namespace bench
