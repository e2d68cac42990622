// Log lines while the database is unreachable, with a clock of the test.
#include "base/outage.h"

#include <gtest/gtest.h>
#include <vector>

#include "base/line_limit.h"

namespace pawl::test {
namespace {

using base::Outage;

class OutageLogTest : public ::testing::Test {
protected:
    static Error away() { return Error(ErrorCode::connection_failed, "no route").mark_retryable(); }
    bool fail(Outage::Reporter& reporter) { return reporter.failed(away(), now); }

    std::vector<std::string> lines;
    Outage outage{base::Log([this](LogLevel, std::string_view line) { lines.emplace_back(line); })};
    Outage::Clock::time_point now = Outage::Clock::time_point{} + std::chrono::hours(1);
};

TEST_F(OutageLogTest, an_outage_is_logged_once_for_all_services_and_when_it_ends) {
    Outage::Reporter claimer(outage);
    Outage::Reporter heartbeat(outage);
    for (int i = 0; i < 40; ++i) {
        EXPECT_TRUE(fail(claimer));
        EXPECT_TRUE(fail(heartbeat));
        now += 255ms;
    }
    claimer.succeeded(now);
    EXPECT_EQ(lines.size(), 1U) << "the other service still fails";
    heartbeat.succeeded(now);
    EXPECT_EQ(
        lines,
        (std::vector<std::string>{
            "database does not answer, retrying: no route", "connected again after 10.2 s"})
    );
    claimer.succeeded(now);
    EXPECT_EQ(lines.size(), 2U);
}

TEST_F(OutageLogTest, a_long_one_is_logged_every_30_seconds) {
    Outage::Reporter claimer(outage);
    for (int i = 0; i <= 90; ++i) {
        (void)fail(claimer);
        now += 1s;
    }
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[1], "database has not answered for 30.0 s, retrying: no route");
    EXPECT_EQ(lines[3], "database has not answered for 90.0 s, retrying: no route");
}

TEST_F(OutageLogTest, a_service_that_gives_up_leaves_the_end_to_the_next_that_succeeds) {
    Outage::Reporter claimer(outage);
    {
        Outage::Reporter call(outage);
        (void)fail(call);
    }
    EXPECT_EQ(lines.size(), 1U);
    now += 2s;
    claimer.succeeded(now);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1], "connected again after 2.0 s");
}

TEST_F(OutageLogTest, other_errors_are_not_outages) {
    Outage::Reporter claimer(outage);
    EXPECT_FALSE(claimer.failed(Error(ErrorCode::database_error, "permission denied"), now));
    EXPECT_FALSE(claimer.failed(std::runtime_error("broken"), now));
    EXPECT_TRUE(lines.empty());
}

TEST(LineLimitTest, so_many_lines_per_second_and_then_only_their_number) {
    base::LineLimit limit(3);
    auto now = base::LineLimit::Time{} + std::chrono::hours(1);
    int allowed = 0;
    for (int i = 0; i < 10; ++i) allowed += limit.allows(now) ? 1 : 0;
    EXPECT_EQ(allowed, 3);
    now += 1s;
    EXPECT_TRUE(limit.allows(now));
    EXPECT_EQ(limit.take_suppressed(), 7);
    EXPECT_EQ(limit.take_suppressed(), 0);
}

TEST_F(OutageLogTest, failed_wake_ups_say_nothing_about_calls) {
    Outage::Reporter calls(outage);
    Outage::Reporter wake_ups(outage, Outage::Reporter::Of::wake_ups);
    EXPECT_TRUE(fail(wake_ups));
    EXPECT_EQ(outage.last_failure(), Outage::Clock::time_point{});
    wake_ups.succeeded(now);
    EXPECT_EQ(lines.size(), 2U);
    {
        Outage::Reporter gave_up(outage);
        EXPECT_TRUE(fail(gave_up));
    }
    EXPECT_EQ(outage.last_failure(), now);
    wake_ups.succeeded(now);
    EXPECT_EQ(lines.size(), 3U) << "a read of the file does not end it";
    calls.succeeded(now);
    EXPECT_EQ(lines.size(), 4U);
}

}  // namespace
}  // namespace pawl::test
