#include "flow_rounds.h"

#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <semaphore>
#include <thread>
#include <vector>

#include "round_trips.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int start_batch = 500;
constexpr int task_concurrency = 512;

FlowRound timed_flow(const std::function<void()>& work) {
    const Usage before = process_usage();
    const auto start = Clock::now();
    work();
    FlowRound round;
    round.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    round.used = process_usage() - before;
    return round;
}

// Adds the server's counters. `work` must close its connections.
FlowRound counted(const FlowSite& site, const std::function<FlowRound()>& work) {
    const ServerCounts before = site.counts();
    FlowRound round = work();
    const ServerCounts after = site.counts();
    round.counts = {after.rows - before.rows, after.commits - before.commits};
    return round;
}

void expect_success(const FlowSite& site, int runs) {
    const auto counts = site.connect().count_runs({}, 1'000'000);
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

// Counts the tasks that are left.
class HandledTasks {
public:
    explicit HandledTasks(int tasks) : left_(tasks) {}

    void one() {
        if (left_.fetch_sub(1) == 1) all_.release();
    }
    void wait_for_all() {
        if (!all_.try_acquire_for(3min))
            throw std::runtime_error("the worker has not finished in time");
    }

private:
    std::atomic<int> left_;
    std::binary_semaphore all_{0};
};

// Runs until `tasks` tasks were handled and reported. `start` creates them, unless they exist.
FlowRound work(
    const FlowSite& site,
    const pawl::Flow& flow,
    int tasks,
    const std::function<void(const pawl::Store&)>& start = {}
) {
    return counted(site, [&] {
        const auto store = site.connect();
        HandledTasks handled(tasks);
        pawl::FlowHandlers handlers;
        for (const auto& step : flow.shape().steps) {
            handlers.on(step.slug, [&](pawl::TaskContext&, const pawl::Json&) {
                handled.one();
                return pawl::Json(std::string(small_output));
            });
        }
        auto worker = pawl::worker("bench")
                          .flow(flow.shape().slug, handlers)
                          .concurrency(task_concurrency)
                          .share_threads()
                          .create(store);
        const double before = round_trips();
        FlowRound round = timed_flow([&] {
            if (start) start(store);
            worker.start();
            handled.wait_for_all();
            worker.stop(60s);
        });
        round.round_trips = round_trips() - before;
        return round;
    });
}

pawl::Flow diamond() {
    pawl::Flow flow(diamond_name);
    for (const auto slug : diamond_steps) flow.step(std::string(slug));
    return flow;
}

std::string array_of(int elements) {
    std::string text = "[1";
    for (int i = 1; i < elements; ++i) text += ",1";
    return text + "]";
}

}  // namespace

void start_diamonds(const FlowSite& site, int runs) {
    const auto store = site.connect();
    const std::vector<pawl::NewRun> some(
        start_batch, pawl::NewRun{diamond_name, pawl::Json(std::string(small_output)), {}}
    );
    for (int done = 0; done < runs; done += start_batch) store.trigger(some);
}

FlowRound worker_drain(const FlowSite& site, int runs, int before) {
    const FlowRound round = work(site, diamond(), runs * diamond_tasks);
    expect_success(site, before + runs);
    return round;
}

FlowRound taker_drain(const FlowSite& site, int runs, Takers takers, int connections, int batch) {
    const FlowRound round = counted(site, [&] {
        std::vector<std::unique_ptr<TaskTaker>> all;
        for (int i = 0; i < connections; ++i)
            all.push_back(takers == Takers::bare ? site.bare() : site.sql_worker());
        std::atomic<int> left = runs * diamond_tasks;
        const auto take = [&](TaskTaker& taker) {
            const auto give_up = Clock::now() + 3min;
            while (left > 0) {
                const int done = taker.work(batch);
                left -= done;
                // Tasks of other connections may start more.
                if (done == 0) std::this_thread::sleep_for(1ms);
                if (Clock::now() > give_up) throw std::runtime_error("tasks are missing");
            }
        };
        FlowRound result = timed_flow([&] {
            std::vector<std::future<void>> threads;
            for (auto& taker : all)
                threads.push_back(std::async(std::launch::async, [&] { take(*taker); }));
            for (auto& thread : threads) thread.get();
        });
        for (const auto& taker : all) result.round_trips += taker->round_trips();
        return result;
    });
    expect_success(site, runs);
    return round;
}

FlowRound map_drain(const FlowSite& site, int runs, int elements) {
    const auto flow = pawl::flow(maps_name).map("each").step("sum", {"each"});
    const std::vector<pawl::NewRun> all(
        static_cast<std::size_t>(runs), pawl::NewRun{maps_name, pawl::Json(array_of(elements)), {}}
    );
    const FlowRound round = work(site, flow, runs * (elements + 1), [&](const pawl::Store& store) {
        store.trigger(all);
    });
    expect_success(site, runs);
    return round;
}

}  // namespace bench
