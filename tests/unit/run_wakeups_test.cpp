#include "seam/run_wakeups.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace pawl::test {
namespace {

using seam::RunWakeups;
using Clock = std::chrono::steady_clock;

// A wait that a signal must end: far below the limit of a test, far above any delay.
bool signalled(RunWakeups::Watch& watch) {
    const auto deadline = Clock::now() + std::chrono::seconds(40);
    watch.wait(deadline);
    return Clock::now() < deadline;
}

TEST(RunSignalsTest, a_signal_after_the_watch_began_is_kept_for_it) {
    RunWakeups signals;
    RunWakeups::Watch watch(signals, RunId(1));
    signals.notify(RunId(1));
    EXPECT_TRUE(signalled(watch));
}

TEST(RunSignalsTest, a_signal_ends_one_wait) {
    RunWakeups signals;
    RunWakeups::Watch watch(signals, RunId(1));
    signals.notify(RunId(1));
    EXPECT_TRUE(signalled(watch));
    watch.wait(Clock::now());  // returns at its deadline: no signal since
    signals.notify(RunId(1));
    EXPECT_TRUE(signalled(watch));
}

TEST(RunSignalsTest, every_watcher_of_the_run_is_notified) {
    RunWakeups signals;
    RunWakeups::Watch first(signals, RunId(1));
    RunWakeups::Watch second(signals, RunId(1));
    signals.notify(RunId(1));
    EXPECT_TRUE(signalled(first));
    EXPECT_TRUE(signalled(second));
}

TEST(RunSignalsTest, notify_all_notifies_every_watcher) {
    RunWakeups signals;
    RunWakeups::Watch first(signals, RunId(1));
    RunWakeups::Watch second(signals, RunId(2));
    signals.notify_all();
    EXPECT_TRUE(signalled(first));
    EXPECT_TRUE(signalled(second));
}

TEST(RunSignalsTest, a_waiting_thread_is_woken) {
    RunWakeups signals;
    RunWakeups::Watch watch(signals, RunId(1));
    std::jthread notifier([&] { signals.notify(RunId(1)); });
    EXPECT_TRUE(signalled(watch));
}

TEST(RunSignalsTest, it_reports_whether_a_run_is_watched) {
    RunWakeups signals;
    EXPECT_FALSE(signals.watched());
    {
        const RunWakeups::Watch first(signals, RunId(1));
        const RunWakeups::Watch second(signals, RunId(1));
        EXPECT_TRUE(signals.watched());
    }
    EXPECT_FALSE(signals.watched());
    signals.notify(RunId(1));
    signals.notify_all();
}

TEST(RunSignalsTest, observers_hear_of_cancelled_runs_while_they_live) {
    RunWakeups signals;
    std::vector<RunId> heard;
    {
        const RunWakeups::Observation observation(signals, [&](RunId run) {
            heard.push_back(run);
        });
        signals.notify_cancelled(RunId(1));
        signals.notify(RunId(2));
        signals.notify_all();
        signals.notify_cancelled(RunId(3));
    }
    signals.notify_cancelled(RunId(4));
    EXPECT_EQ(heard, (std::vector{RunId(1), RunId(), RunId(3)})) << "notify_all names no run";
}

}  // namespace
}  // namespace pawl::test
