// The number of requests of a remote session: see
// docs/decisions/0039-requests-of-a-remote-session.md. The first column is the number if round
// trips were treated as free, as on SQLite.
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <iostream>
#include <pawl/pawl.h>
#include <pawl/testing.h>

#include "engine/access.h"
#include "support/deferring_store.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

using rowstore::RoundTrips;

// A store with a workflow, a queue and a flow, over sessions that count requests.
class CountedStore {
public:
    explicit CountedStore(RoundTrips round_trips)
        : backend_(open_deferring({.path = directory_.file("store.db")}, {}, round_trips)),
          store_(detail::Access::store(backend_)) {
        store_.install();
        store_.create_workflow("job");
        store_.create_queue("work");
        store_.create_flow("flow");
        store_.add_step("flow", {"first", StepType::single, {}, {}});
        store_.add_step("flow", {"second", StepType::single, {"first"}, {}});
    }

    seam::Backend& backend() { return *backend_; }
    const Store& store() { return store_; }
    int count(const std::function<void()>& call) {
        const int before = backend_->requests();
        call();
        return backend_->requests() - before;
    }

    void trigger(int number, const std::string& workflow = "job") {
        (void)backend_->trigger(std::vector<NewRun>(std::size_t(number), NewRun{workflow}));
    }
    seam::Claim claim(int number, const std::string& queue, seam::Work work) {
        seam::ClaimRequest request;
        request.queues = backend_->resolve_queues(std::vector{queue});
        request.max_messages = number;
        request.work = work;
        return backend_->claim(request);
    }
    std::vector<Lease> take_runs(int number) {
        trigger(number);
        return leases(claim(number, "job", seam::Work::runs));
    }
    std::vector<Lease> take_messages(int number) {
        (void)backend_->enqueue("work", std::vector<NewMessage>(std::size_t(number)));
        return leases(claim(number, "work", seam::Work::messages));
    }
    void commit(const std::vector<Write>& writes) {
        for (const auto& outcome : backend_->commit(writes, Attempt::first))
            EXPECT_EQ(outcome.status, WriteStatus::done) << outcome.error;
    }
    static std::vector<Lease> leases(const seam::Claim& claim) {
        std::vector<Lease> leases;
        for (const Message& message : claim.messages) leases.push_back(message.lease());
        return leases;
    }

private:
    TempDirectory directory_;
    std::shared_ptr<DeferringStore> backend_;
    Store store_;
};

// A call with a batch size; returns its requests.
using Measure = std::function<int(CountedStore&, int)>;

template <class MakeWrite>
Measure commit_of_runs(MakeWrite make) {
    return [make](CountedStore& counted, int number) {
        std::vector<Write> writes;
        for (const Lease& lease : counted.take_runs(number)) writes.push_back(make(lease));
        return counted.count([&] { counted.commit(writes); });
    };
}

template <class Action>
Measure commit_of_messages(Action action) {
    return [action](CountedStore& counted, int number) {
        std::vector<Write> writes;
        for (const Lease& lease : counted.take_messages(number)) writes.push_back({lease, action});
        return counted.count([&] { counted.commit(writes); });
    };
}

int claim_runs(CountedStore& counted, int number) {
    counted.trigger(number);
    seam::ClaimRequest request;
    request.queues = counted.backend().resolve_queues(std::vector<std::string>{"job"});
    request.max_messages = number;
    request.work = seam::Work::runs;
    return counted.count([&] {
        EXPECT_EQ(counted.backend().claim(request).messages.size(), std::size_t(number));
    });
}

// Released runs have recorded steps to load, and are found by their time.
int claim_runs_again(CountedStore& counted, int number) {
    std::vector<Write> writes;
    for (const Lease& lease : counted.take_runs(number)) {
        writes.push_back(checkpoint(lease, "a", 0));
        writes.push_back({lease, seam::Suspend{}});
    }
    counted.commit(writes);
    seam::ClaimRequest request;
    request.queues = counted.backend().resolve_queues(std::vector<std::string>{"job"});
    request.max_messages = number;
    request.work = seam::Work::runs;
    return counted.count([&] {
        const auto claim = counted.backend().claim(request);
        EXPECT_EQ(claim.messages.size(), std::size_t(number));
        EXPECT_EQ(claim.runs.at(0)->steps.size(), 1U);
    });
}

int claim_messages(CountedStore& counted, int number) {
    (void)counted.backend().enqueue("work", std::vector<NewMessage>(std::size_t(number)));
    seam::ClaimRequest request;
    request.queues = counted.backend().resolve_queues(std::vector<std::string>{"work"});
    request.max_messages = number;
    return counted.count([&] {
        EXPECT_EQ(counted.backend().claim(request).messages.size(), std::size_t(number));
    });
}

int claim_nothing(CountedStore& counted, int number) {
    seam::ClaimRequest request;
    request.queues = counted.backend().resolve_queues(std::vector<std::string>{"job"});
    request.max_messages = number;
    request.work = seam::Work::runs;
    return counted.count([&] { EXPECT_TRUE(counted.backend().claim(request).messages.empty()); });
}

int trigger_runs(CountedStore& counted, int number) {
    return counted.count([&] { counted.trigger(number); });
}

int enqueue(CountedStore& counted, int number) {
    const std::vector<NewMessage> messages(std::size_t(number), NewMessage{});
    return counted.count([&] { (void)counted.backend().enqueue("work", messages); });
}

int heartbeat(CountedStore& counted, int number) {
    const WorkerId worker = counted.backend().register_worker({"w", "h", 0, 1, 30s, {}, {}});
    std::vector<Write> writes;
    for (const Lease& lease : counted.take_runs(number))
        writes.push_back({lease, seam::Extend{30s}});
    return counted.count([&] { (void)counted.backend().heartbeat(worker, writes); });
}

int claim_tasks(CountedStore& counted, int number) {
    counted.trigger(number, "flow");
    seam::ClaimRequest request;
    request.queues = counted.backend().resolve_queues(std::vector<std::string>{"flow"});
    request.max_messages = number;
    request.work = seam::Work::tasks;
    return counted.count([&] {
        EXPECT_EQ(counted.backend().claim(request).messages.size(), std::size_t(number));
    });
}

int complete_tasks(CountedStore& counted, int number) {
    counted.trigger(number, "flow");
    const auto claim = counted.claim(number, "flow", seam::Work::tasks);
    std::vector<Write> writes;
    for (std::size_t i = 0; i < claim.tasks.size(); ++i)
        writes.push_back({claim.messages[i].lease(), seam::CompleteTask{claim.tasks[i].task, "1"}});
    return counted.count([&] { counted.commit(writes); });
}

int fire_schedule(CountedStore& counted, int /*number*/) {
    testing::set_clock(
        counted.store(), Timestamp(std::chrono::sys_days(std::chrono::year(2030) / 1 / 2))
    );
    (void)counted.store().create_schedule("s", "job", "* * * * *", Json{"7"}, {});
    testing::advance_clock(counted.store(), 1min);
    const auto due = counted.backend().due_schedules(1).due.at(0);
    seam::ScheduleFire fire{due.id, due.version, {}, {}};
    fire.runs.push_back({*due.info.next_fire_at, NewRun{"job"}});
    fire.runs.back().run.options.idempotency_key = "k";
    fire.next_fire_at = *due.info.next_fire_at + 1min;
    return counted.count([&] { EXPECT_TRUE(counted.backend().fire_schedule(fire)); });
}

void publish(CountedStore& counted, int number) {
    std::vector<seam::OutboxRecord> events;
    for (int i = 0; i < number; ++i)
        events.push_back({fmt::format("event-{}", i), {"type", Json{"1"}, "", "", {}}, {}});
    counted.backend().publish(events);
}

int claim_outbox(CountedStore& counted, int number) {
    publish(counted, number);
    return counted.count([&] {
        EXPECT_EQ(
            counted.backend().claim_outbox(number, 10, 30s).events.size(), std::size_t(number)
        );
    });
}

int report_outbox(CountedStore& counted, int number) {
    publish(counted, number);
    std::vector<seam::OutboxReport> reports;
    for (const auto& taken : counted.backend().claim_outbox(number, 10, 30s).events)
        reports.push_back({taken.event.id, taken.delivery});
    return counted.count([&] { (void)counted.backend().report_outbox(reports); });
}

int find_run(CountedStore& counted, int /*number*/) {
    counted.trigger(1);
    const RunId run = counted.store().runs().at(0).id;
    return counted.count([&] { (void)counted.backend().find_run(run); });
}

int list_runs(CountedStore& counted, int number) {
    counted.trigger(number);
    return counted.count([&] {
        EXPECT_EQ(counted.backend().list_runs({}, {.limit = 100}).size(), std::size_t(number));
    });
}

int read_steps(CountedStore& counted, int number) {
    const auto leases = counted.take_runs(1);
    std::vector<Write> writes;
    for (int i = 0; i < number; ++i)
        writes.push_back(checkpoint(leases.at(0), fmt::format("step-{}", i), i));
    counted.commit(writes);
    const RunId run(leases.at(0).message.value());
    return counted.count([&] {
        EXPECT_EQ(counted.backend().steps(run).size(), std::size_t(number));
    });
}

struct Case {
    std::string name;
    Measure measure;
    std::vector<int> sizes;
    int bound;  // of requests, independent of the size
};

const std::vector<int> any_size = {1, 10, 100};

const std::vector<Case> bounded = {
    {"claim of runs", claim_runs, any_size, 3},
    {"claim of suspended runs with steps", claim_runs_again, any_size, 4},
    {"claim of messages", claim_messages, any_size, 3},
    {"claim that finds nothing", claim_nothing, {1}, 1},
    {"steps", commit_of_runs([](const Lease& l) { return checkpoint(l, "a", 0); }), any_size, 2},
    {"failed steps",
     commit_of_runs([](const Lease& l) { return failed_step(l, "a", 0); }),
     any_size,
     2},
    {"sleeps",
     commit_of_runs([](const Lease& l) { return sleep_step(l, "a", 0, 1h); }),
     any_size,
     2},
    {"pauses",
     commit_of_runs([](const Lease& l) { return pause_step(l, "a", 0, 1h); }),
     any_size,
     2},
    {"successes", commit_of_runs([](const Lease& l) { return success(l); }), any_size, 2},
    {"failures", commit_of_runs([](const Lease& l) { return failure(l); }), any_size, 2},
    {"archives", commit_of_messages(seam::Archive{}), any_size, 2},
    {"removals", commit_of_messages(seam::Remove{}), any_size, 2},
    {"releases", commit_of_messages(seam::Release{}), any_size, 2},
    {"failed messages", commit_of_messages(seam::Fail{"no", 1s}), any_size, 2},
    {"heartbeat with leases", heartbeat, any_size, 3},
    {"triggers", trigger_runs, any_size, 2},
    {"enqueue", enqueue, any_size, 2},
    {"claim of tasks", claim_tasks, any_size, 4},
    {"fired schedule", fire_schedule, {1}, 3},
    {"claim of the outbox", claim_outbox, any_size, 5},
    {"reports to the outbox", report_outbox, any_size, 3},
    {"look-up of a run", find_run, {1}, 1},
    {"list of runs", list_runs, any_size, 3},
    {"look-up of steps", read_steps, {1, 100}, 1},
};
int requests_of(const Case& one, RoundTrips round_trips, int size) {
    CountedStore counted(round_trips);
    return one.measure(counted, size);
}

void print(const Case& one, int size, int before, int after) {
    std::cout << fmt::format("{:36} {:4} {:6} {:6}\n", one.name, size, before, after);
}

TEST(RequestsTest, a_batch_of_any_size_takes_a_few_requests) {
    for (const Case& one : bounded) {
        for (const int size : one.sizes) {
            const int before = requests_of(one, RoundTrips::free, size);
            const int after = requests_of(one, RoundTrips::costly, size);
            print(one, size, before, after);
            EXPECT_LE(after, one.bound) << one.name << ", " << size;
        }
    }
}

// The graph of the flow is processed task by task.
TEST(RequestsTest, completed_tasks_take_three_requests_each) {
    const Case one{"completed tasks", complete_tasks, any_size, 3};
    for (const int size : one.sizes) {
        const int before = requests_of(one, RoundTrips::free, size);
        const int after = requests_of(one, RoundTrips::costly, size);
        print(one, size, before, after);
        EXPECT_LE(after, 3 + one.bound * size) << size;
    }
}

}  // namespace
}  // namespace pawl::test
