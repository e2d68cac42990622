// The scheduler inside a worker: it fires by itself when a fire time has arrived.
#include <pawl/json.h>

#include "support/schedule_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class SchedulerTest : public ScheduleStoreTest {
protected:
    Worker working() const {
        Worker made = worker_for([](Context&, int n) { return n + 1; });
        made.start();
        return made;
    }
    bool succeeded(std::int64_t runs) const {
        return eventually([&] { return store().count_runs({.workflow = "job"}).success == runs; });
    }
};
PAWL_FOR_EACH_BACKEND(SchedulerTest);
using SchedulerWakeupTest = WithoutPolling<SchedulerTest>;
PAWL_FOR_EACH_BACKEND(SchedulerWakeupTest);

TEST_P(SchedulerWakeupTest, a_worker_fires_and_runs_what_is_due) {
    make("@hourly");
    const Worker worker = working();
    set("2026-01-01 01:00");
    EXPECT_TRUE(succeeded(1));
    set("2026-01-01 02:00");
    EXPECT_TRUE(succeeded(2));
    EXPECT_EQ(runs()[1].output->text, "8");
}

TEST_P(SchedulerWakeupTest, a_schedule_created_in_the_meantime_is_seen) {
    const Worker worker = working();
    store().create_schedule(
        "s", "job", "@hourly", Json{"1"}, {.start = time_of("2026-01-01 00:00")}
    );
    set("2026-01-01 01:00");
    EXPECT_TRUE(succeeded(1));
    // As another process would.
    open().create_schedule("t", "job", "30 * * * *", Json{"1"});
    testing::set_clock(open(), time_of("2026-01-01 01:30"));
    EXPECT_TRUE(succeeded(2));
}

TEST_P(SchedulerTest, it_fires_in_real_time_too) {
    testing::restore_clock(store());
    const Worker worker = working();
    const Timestamp first = *make("@every 1s").next_fire_at;
    EXPECT_TRUE(succeeded(2));
    Timestamp fire_at = first;
    for (const RunInfo& run : runs()) {
        EXPECT_GE(run.created_at, fire_at) << run.id;
        fire_at += 1s;
    }
}

TEST_P(SchedulerTest, a_fire_that_waits_for_the_end_of_a_run_continues_by_itself) {
    make("@hourly", {.overlap = Overlap::queue_one});
    look_at("2026-01-01 01:00");
    look_at("2026-01-01 02:00");
    const Worker worker = working();
    EXPECT_TRUE(succeeded(2));
    EXPECT_EQ(fired(), "01:00, 02:00");
}

TEST_P(SchedulerTest, poll_once_fires_what_is_due_and_runs_it) {
    make("@hourly");
    Worker worker = worker_for([](Context&, int n) { return n; });
    EXPECT_EQ(worker.poll_once(), 0);
    set("2026-01-01 01:00");
    EXPECT_EQ(worker.poll_once(), 1);
    EXPECT_EQ(store().count_runs({.workflow = "job"}).success, 1);
}

TEST_P(SchedulerTest, without_housekeeping_nothing_is_fired) {
    make("@hourly");
    auto worker = pawl::worker("w")
                      .handle("job", [](Context&, int n) { return n; })
                      .housekeeping(false)
                      .create(store());
    set("2026-01-01 01:00");
    EXPECT_EQ(worker.poll_once(), 0);
    EXPECT_EQ(fired(), "");
}

TEST_P(SchedulerTest, a_stopped_worker_fires_nothing) {
    make("@hourly");
    Worker worker = working();
    set("2026-01-01 01:00");
    EXPECT_TRUE(succeeded(1));
    ASSERT_TRUE(worker_is_idle(store()));
    worker.stop();
    EXPECT_EQ(detail::Access::backend(store())->wake_hub().waiters(), 0U)
        << "its scheduler has ended";
    set("2026-01-01 02:00");
    EXPECT_EQ(fired(), "01:00");
    look();
    EXPECT_EQ(fired(), "01:00, 02:00");
}

TEST_P(SchedulerTest, if_nothing_is_due_it_returns_when_to_check_again) {
    runtime::Scheduler scheduler(*detail::Access::backend(store()));
    EXPECT_EQ(scheduler.fire_due(), Duration(30s)) << "no schedule at all";
    make("@hourly");
    EXPECT_EQ(scheduler.fire_due(), Duration(30s)) << "the next is an hour away";
    set("2026-01-01 00:59:50");
    EXPECT_EQ(scheduler.fire_due(), Duration(10s));
    set("2026-01-01 01:00");
    EXPECT_EQ(scheduler.fire_due(), Duration(30s)) << "it has fired";
    store().create_schedule("t", "job", "@every 5s");
    set("2026-01-01 01:00:10");
    EXPECT_EQ(scheduler.fire_due(), Duration(5s));
}

}  // namespace
}  // namespace pawl::test
