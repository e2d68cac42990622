// When suspects are executed, with a clock of the test.
#include "runtime/suspect_policy.h"

#include <gtest/gtest.h>

namespace pawl::test {
namespace {

using runtime::SuspectPolicy;
using Time = SuspectPolicy::Time;

class SuspectPolicyTest : public ::testing::Test {
protected:
    // A window for a suspect with that lease, and the time that it waited for its start.
    std::chrono::milliseconds window(Time last_start, Duration takes, Duration lease = 30s) {
        policy.begin(now);
        const Time began = now;
        now = std::max(now, policy.start_at(last_start, lease));
        const Time started = now;
        now = std::min(started + takes, SuspectPolicy::end_at(started));
        policy.end(now);
        return std::chrono::duration_cast<std::chrono::milliseconds>(started - began);
    }

    SuspectPolicy policy;
    Time now = Time{} + std::chrono::hours(100);
};

TEST_F(SuspectPolicyTest, two_strikes_before_this_delivery_make_a_suspect) {
    EXPECT_FALSE(SuspectPolicy::is_suspect(2));
    EXPECT_TRUE(SuspectPolicy::is_suspect(3));
}

TEST_F(SuspectPolicyTest, an_idle_worker_starts_it_now) {
    EXPECT_TRUE(policy.may_begin(now));
    EXPECT_EQ(window({}, 1ms), 0ms);
}

TEST_F(SuspectPolicyTest, calls_that_have_run_for_longer_than_the_patience_do_not_count) {
    EXPECT_EQ(window(now - SuspectPolicy::patience, 1ms), 0ms);
    EXPECT_EQ(window(now - std::chrono::hours(24), 1ms), 0ms);
}

TEST_F(SuspectPolicyTest, it_waits_for_younger_calls_but_never_longer_than_the_patience) {
    EXPECT_EQ(window(now - 100ms, 1ms), 150ms);
    EXPECT_EQ(window(now, 1ms), 250ms);
    EXPECT_EQ(window(now + std::chrono::hours(1), 1ms), 250ms);
}

TEST_F(SuspectPolicyTest, a_short_lease_shortens_the_wait) {
    EXPECT_EQ(SuspectPolicy::hold_time(30s), 1s);
    EXPECT_EQ(SuspectPolicy::hold_time(400ms), 100ms);
    EXPECT_EQ(window(now, 1ms, 400ms), 100ms);
}

TEST_F(SuspectPolicyTest, other_work_waits_for_it_for_a_bounded_time) {
    const Time before = now;
    (void)window(now, std::chrono::hours(24));
    EXPECT_EQ(now - before, SuspectPolicy::patience + SuspectPolicy::alone_for);
    EXPECT_LE(now - before, 500ms);
}

TEST_F(SuspectPolicyTest, windows_take_a_tenth_of_the_time_at_most) {
    const Time before = now;
    std::chrono::steady_clock::duration held{};
    for (int i = 0; i < 50; ++i) {
        now = std::max(now, policy.next_window());
        EXPECT_TRUE(policy.may_begin(now));
        const Time began = now;
        (void)window(now - 100ms, std::chrono::milliseconds(i * 20));
        held += now - began;
        EXPECT_FALSE(policy.may_begin(now));
    }
    now = std::max(now, policy.next_window());
    EXPECT_LE(held * 10, now - before);
}

TEST_F(SuspectPolicyTest, short_ones_follow_each_other_quickly) {
    const Time before = now;
    for (int i = 0; i < 100; ++i) {
        now = std::max(now, policy.next_window());
        (void)window({}, 2ms);
    }
    EXPECT_LE(now - before, 2s);
}

}  // namespace
}  // namespace pawl::test
