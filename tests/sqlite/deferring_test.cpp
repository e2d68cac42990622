// A commit that prefetches its fences returns the same as one that checks each write.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pawl/pawl.h>

#include "engine/access.h"
#include "support/deferring_store.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

using rowstore::RoundTrips;

class DeferredCommit {
public:
    explicit DeferredCommit(RoundTrips round_trips)
        : store_(detail::Access::store(
              open_deferring({.path = directory_.file("store.db")}, {}, round_trips)
          )) {
        store_.install();
        store_.create_workflow("job", {.audit = AuditLevel::all});
        store_.create_queue("work", {.max_attempts = 1});
    }

    Lease take_message() {
        store_.queue("work").enqueue(Json{"1"});
        return store_.queue("work").dequeue().at(0).lease();
    }
    Lease take_run() {
        (void)Trigger(NewRun{"job"}).execute(store_);
        const std::string name = "job";
        seam::ClaimRequest request;
        request.queues = detail::Access::backend(store_)->resolve_queues({&name, 1});
        request.work = seam::Work::runs;
        return detail::Access::backend(store_)->claim(request).messages.at(0).lease();
    }
    // The statuses of the writes, then the remaining rows.
    std::string commit(const std::vector<Write>& writes) {
        std::string text;
        for (const auto& outcome : detail::Access::backend(store_)->commit(writes, Attempt::first))
            text += ::testing::PrintToString(outcome.status) + " ";
        const QueueStats stats = store_.queue("work").stats();
        text +=
            fmt::format("ready {} archived {} dead {}", stats.ready, stats.archived, stats.dead);
        for (const RunInfo& run : store_.runs()) {
            text += fmt::format("; {}", to_string(run.status));
            for (const RunEvent& event : store_.run(run.id).events()) text += " " + event.kind;
            for (const StepInfo& step : store_.run(run.id).steps())
                text += fmt::format(" {}={}", step.id, to_string(step.status));
        }
        return text;
    }

private:
    TempDirectory directory_;
    Store store_;
};

std::vector<seam::WriteAction> message_actions() {
    return {
        seam::Archive{},
        seam::Remove{},
        seam::Release{},
        seam::HandBack{},
        seam::Fail{"no", 0s},
        seam::Bury{"why"},
        seam::Extend{30s}};
}

Write with_event(Write write) {
    write.event = AuditEvent{"seen"};
    return write;
}

std::vector<Write> run_writes(const Lease& lease) {
    return {
        checkpoint(lease, "a", 0),
        with_event(checkpoint(lease, "a", 0)),
        with_event(running(lease, "a", 0)),
        failed_step(lease, "a", 0),
        with_event(pause_step(lease, "a", 0, 1h)),
        sleep_step(lease, "a", 0, 1h),
        success(lease),
        failure(lease),
        {lease, seam::Release{}},
        {lease, seam::Extend{30s}}};
}

TEST(DeferringTest, two_writes_of_a_message_have_the_outcomes_that_they_have_one_by_one) {
    DeferredCommit one_by_one(RoundTrips::free);
    DeferredCommit as_set(RoundTrips::costly);
    for (const auto& first : message_actions()) {
        for (const auto& second : message_actions()) {
            const auto outcome = [&](DeferredCommit& store) {
                const Lease lease = store.take_message();
                return store.commit({{lease, first}, {lease, second}});
            };
            EXPECT_EQ(outcome(as_set), outcome(one_by_one)) << first.index() << second.index();
        }
    }
}

TEST(DeferringTest, two_writes_of_a_run_have_the_outcomes_that_they_have_one_by_one) {
    for (std::size_t i = 0; i < run_writes({}).size(); ++i) {
        DeferredCommit one_by_one(RoundTrips::free);
        DeferredCommit as_set(RoundTrips::costly);
        for (std::size_t k = 0; k < run_writes({}).size(); ++k) {
            const auto outcome = [&](DeferredCommit& store) {
                const auto writes = run_writes(store.take_run());
                return store.commit({writes[i], writes[k]});
            };
            EXPECT_EQ(outcome(as_set), outcome(one_by_one)) << i << ", " << k;
        }
    }
}

}  // namespace
}  // namespace pawl::test
