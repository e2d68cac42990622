// Worker processes that crash, are stopped, or are killed by the run that they execute.
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <pawl/json.h>
#include <thread>

#include "crash/crashed.h"
#include "crash/stopped.h"
#include "support/process.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class CrashTest : public WorkflowTest {
protected:
    std::string ledger(const std::string& name = "job") const {
        return place().directory().file(name + ".ledger");
    }
    Process start(const std::string& mode, const std::string& name, int lease_ms, int number)
        const {
        return Process(
            {PAWL_CRASH_WORKER,
             mode,
             place().url(),
             name,
             ledger(name),
             std::to_string(lease_ms),
             std::to_string(number)}
        );
    }
    Process start_worker(int lease_ms, int concurrency = 1) const {
        Process process = start("work", "job", lease_ms, concurrency);
        EXPECT_EQ(process.read_line(), "working");
        return process;
    }
    // The number of times that the body of each step has begun.
    std::map<std::string, int> begun(const std::string& name = "job") const {
        std::map<std::string, int> counts;
        std::ifstream file(ledger(name));
        std::string run;
        std::string delivery;
        std::string step;
        std::string what;
        while (file >> run >> delivery >> step >> what) counts[step] += what == "begin" ? 1 : 0;
        return counts;
    }
    // The observable state of a run, without times and deliveries.
    std::string end_state(const std::string& name) const {
        std::string state;
        for (const RunInfo& run : store().runs({.workflow = name})) {
            state += std::string(to_string(run.status)) + " " + run.output.value_or(Json{}).text;
            for (const StepInfo& step : store().run(run.id).steps())
                state += "; " + step.id + " " + std::string(to_string(step.status)) + " " +
                         step.output.value_or(Json{}).text;
            state += "\n";
        }
        return state;
    }
};
PAWL_FOR_EACH_BACKEND(CrashTest);

// One process per storage call of the fixed workflow crashes at that call; then another process
// completes its work.
class FailPointsTest : public CrashTest {
protected:
    static constexpr int lease_ms = 150;

    void make(const std::string& name) const { make_workflow(name, {.max_strikes = 100}); }
    // Returns false if the process completed without reaching its fail point.
    bool crash_at(const std::string& mode, int point, const std::string& expected) const {
        const std::string name = mode + "-" + std::to_string(point);
        make(name);
        const int code = start(mode, name, lease_ms, point).wait();
        if (code == 0) {
            EXPECT_EQ(end_state(name), expected);
            return false;
        }
        EXPECT_EQ(code, crashed);
        const auto recorded = recorded_steps(name);
        const auto before = begun(name);
        EXPECT_EQ(start(mode, name, lease_ms, 0).wait(), 0) << "after fail point " << point;
        EXPECT_EQ(end_state(name), expected) << "after fail point " << point;
        auto after = begun(name);
        for (const std::string& step : recorded) {
            EXPECT_EQ(after[step], before.at(step))
                << "step " << step << " was recorded at fail point " << point;
        }
        return true;
    }
    // A crash at each storage call, until all calls are covered.
    void crash_everywhere(const std::string& mode, int least, const std::string& expected) const {
        // Several in parallel, because they mostly wait for the lease of the crashed process.
        std::atomic<int> next = 1;
        std::atomic<int> through = 0;
        std::atomic<int> crashes = 0;
        {
            std::vector<std::jthread> lanes;
            for (int lane = 0; lane < 4; ++lane) {
                lanes.emplace_back([&] {
                    while (through == 0 && next < 500 && !HasFatalFailure()) {
                        try {
                            ++(crash_at(mode, next++, expected) ? crashes : through);
                        } catch (const std::exception& error) {
                            ADD_FAILURE() << error.what();
                            return;
                        }
                    }
                });
            }
        }
        EXPECT_GE(through, 1) << "the loop ends when no fail point is left";
        EXPECT_GE(crashes, least) << "else the fail points are not where they should be";
        RecordProperty("fail_points", crashes);
    }
    std::vector<std::string> recorded_steps(const std::string& name) const {
        std::vector<std::string> ids;
        for (const RunInfo& run : store().runs({.workflow = name})) {
            for (const StepInfo& step : store().run(run.id).steps()) {
                const bool is_ours =  // with a body that writes to the ledger
                    step.id.find("sleep") == std::string::npos && step.id != "ask";
                if (step.status == StepStatus::success && is_ours) ids.push_back(step.id);
            }
        }
        return ids;
    }
};
PAWL_FOR_EACH_BACKEND(FailPointsTest);

TEST_P(FailPointsTest, a_death_at_any_storage_call_leads_to_the_same_end) {
    make("fixed-0");
    ASSERT_EQ(start("fixed", "fixed-0", lease_ms, 0).wait(), 0);
    const std::string expected = end_state("fixed-0");
    ASSERT_TRUE(contains(expected, "SUCCESS 43; first SUCCESS 21; second SUCCESS 42; "));
    crash_everywhere("fixed", 30, expected);
}

TEST_P(FailPointsTest, a_death_at_any_storage_call_leaves_an_answer_that_is_rejected_or_used) {
    make("answered-0");
    ASSERT_EQ(start("answered", "answered-0", lease_ms, 0).wait(), 0);
    const std::string expected = end_state("answered-0");
    ASSERT_EQ(expected, "SUCCESS 42; ask SUCCESS 21; after SUCCESS 42\n");
    crash_everywhere("answered", 8, expected);
}

TEST_P(CrashTest, a_worker_killed_in_a_step_is_replaced_and_only_that_step_runs_again) {
    make_workflow();
    const RunId run = trigger("job", Json{"\"hang\""});
    Process doomed = start_worker(300);
    ASSERT_EQ(doomed.read_line(), "hanging");
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
    Process rescuer = start_worker(300);
    EXPECT_EQ(store().run(run).wait<int>(40s), 3);
    EXPECT_EQ(begun(), (std::map<std::string, int>{{"one", 1}, {"two", 1}, {"three", 2}}));
    EXPECT_EQ(step(run, "one").delivery, 1);
    EXPECT_EQ(step(run, "three").delivery, 2);
}

TEST_P(CrashTest, a_stopped_worker_that_wakes_after_its_lease_can_write_nothing_and_is_notified) {
    make_workflow();
    const RunId run = trigger("job", Json{"\"stopped\""});
    Process sleeper = start_worker(300);
    ASSERT_EQ(sleeper.read_line(), "waiting");
    stop_process(sleeper, *database());
    Process other = start_worker(300);
    EXPECT_EQ(store().run(run).wait<int>(40s), 3);
    EXPECT_EQ(step(run, "two").output, Json{"2"});
    const std::string before = end_state("job");
    sleeper.signal(SIGCONT);
    EXPECT_EQ(sleeper.read_line(), "told");
    sleeper.signal(SIGTERM);
    EXPECT_EQ(sleeper.wait(), 0);
    EXPECT_EQ(end_state("job"), before);
    EXPECT_EQ(step(run, "two").delivery, 2);
    EXPECT_EQ(begun()["three"], 1) << "it starts no further step";
}

TEST_P(CrashTest, a_run_that_kills_its_worker_is_poison_after_max_strikes) {
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger("job", Json{"\"abort\""});
    for (int strike = 1; strike <= 2; ++strike) EXPECT_EQ(start_worker(1000).wait(), -SIGABRT);
    Process survivor = start_worker(1000);
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "poison");
    EXPECT_TRUE(has_event(run, "poison"));
    const RunId good = trigger("job", Json{"\"good\""});
    EXPECT_EQ(store().run(good).wait<int>(40s), 3);
}

TEST_P(CrashTest, a_body_that_segfaults_is_poison_though_a_step_before_it_is_recorded) {
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger("job", Json{"\"segfault\""});
    // The first delivery has recorded a step, which is progress, so it is not a strike. A lease
    // that ends before the body has begun would be one more strike.
    for (int death = 1; death <= 3; ++death) EXPECT_NE(start_worker(1000).wait(), 0);
    Process survivor = start_worker(1000);
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(error_in(info(run).error).type, "poison");
    EXPECT_EQ(begun()["one"], 1);
    EXPECT_EQ(begun()["two"], 3);
    const RunId good = trigger("job", Json{"\"good\""});
    EXPECT_EQ(store().run(good).wait<int>(40s), 3);
}

TEST_P(CrashTest, one_crashing_run_does_not_affect_63_others) {
    make_workflow();
    std::vector<NewRun> batch;
    for (int i = 0; i < 64; ++i)
        batch.push_back({"job", Json{i == 20 ? "\"abort\"" : "\"good\""}, {}});
    const auto runs = store().trigger(batch);
    // Like a supervisor, starts a new worker for each one that crashes.
    int deaths = 0;
    while (deaths < 20 && store().count_runs().error == 0) {
        Process process = start("work", "job", 250, 16);
        const bool over = eventually(
            [&] {
                int unused = 0;
                return store().count_runs().error == 1 || process.ended(unused);
            },
            std::chrono::seconds(40)
        );
        ASSERT_TRUE(over);
        int code = 0;
        if (process.ended(code)) {
            EXPECT_EQ(code, -SIGABRT);
            ++deaths;
        }
    }
    Process last = start("work", "job", 250, 16);
    EXPECT_TRUE(eventually([&] { return store().count_runs().success == 63; }));
    EXPECT_EQ(store().count_runs().error, 1);
    EXPECT_EQ(error_in(runs[20].info().error).type, "poison");
    EXPECT_GE(deaths, 1);
    EXPECT_LE(deaths, 5) << "max_strikes";
}

}  // namespace
}  // namespace pawl::test
