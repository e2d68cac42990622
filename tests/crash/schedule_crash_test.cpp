// Schedulers in separate processes that race and crash.
#include <csignal>

#include "crash/crashed.h"
#include "support/process.h"
#include "support/schedule_test.h"

namespace pawl::test {
namespace {

class ScheduleCrashTest : public ScheduleStoreTest {
protected:
    Process start_process(const std::string& mode, int number) const {
        return Process(
            {PAWL_CRASH_WORKER,
             mode,
             place().url(),
             "job",
             place().directory().file("ledger"),
             "30000",
             std::to_string(number)}
        );
    }
    void make_minutely() const {
        make("* * * * *", {.catch_up = CatchUp::all, .catch_up_limit = 1000});
    }
    // Each minute since the beginning has created one run.
    void expect_one_run_a_minute(int minutes) const {
        const auto made = runs();
        EXPECT_EQ(made.size(), static_cast<std::size_t>(minutes));
        std::set<std::string> keys;
        for (const RunInfo& run : made) keys.insert(run.idempotency_key.value_or(""));
        EXPECT_EQ(keys.size(), made.size());
    }
};
PAWL_FOR_EACH_BACKEND(ScheduleCrashTest);

TEST_P(ScheduleCrashTest, a_death_at_any_storage_call_neither_loses_nor_repeats_a_fire_time) {
    make_minutely();
    int minutes = 0;
    int crashes = 0;
    for (int point = 1; point < 200; ++point) {
        minutes += 3;
        testing::advance_clock(store(), 3min);
        const int code = start_process("schedule", point).wait();
        look();
        // The server may still execute requests of the crashed process, and look() leaves a locked
        // schedule to its holder.
        EXPECT_TRUE(eventually([&] { return runs().size() >= static_cast<std::size_t>(minutes); }));
        expect_one_run_a_minute(minutes);
        ASSERT_FALSE(HasFailure()) << "after fail point " << point;
        if (code == 0) break;
        ASSERT_EQ(code, crashed);
        ++crashes;
    }
    EXPECT_GE(crashes, 6) << "else the fail points are not where they should be";
    EXPECT_LT(crashes, 199) << "the loop ends when no fail point is left";
    RecordProperty("fail_points", crashes);
}

TEST_P(ScheduleCrashTest, processes_that_race_make_each_run_once) {
    make_minutely();
    std::vector<Process> processes;
    for (int i = 0; i < 3; ++i) {
        processes.push_back(start_process("schedules", 1));
        ASSERT_EQ(processes.back().read_line(), "working");
    }
    for (int hour = 1; hour <= 5; ++hour) {
        testing::advance_clock(store(), 1h);
        ASSERT_TRUE(eventually([&] {
            return store().count_runs({.workflow = "job"}).success == 60 * hour;
        })) << hour;
        if (hour == 3) processes.front().signal(SIGKILL);
    }
    expect_one_run_a_minute(300);
    for (std::size_t i = 1; i < processes.size(); ++i) {
        processes[i].signal(SIGTERM);
        EXPECT_EQ(processes[i].wait(), 0);
    }
}

}  // namespace
}  // namespace pawl::test
