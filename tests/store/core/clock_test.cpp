#include "support/store_test.h"

namespace pawl::test {
namespace {

class ClockTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND(ClockTest);

TEST_P(ClockTest, a_frozen_clock_stands_still_for_every_process) {
    freeze();
    EXPECT_EQ(store().now(), start);
    EXPECT_EQ(open().now(), start);
}

TEST_P(ClockTest, it_moves_by_what_it_is_advanced) {
    freeze();
    advance(1500ms);
    EXPECT_EQ(open().now(), start + 1500ms);
    testing::set_clock(store(), start - 24h);
    EXPECT_EQ(store().now(), start - 24h);
}

TEST_P(ClockTest, microseconds_are_kept) {
    testing::set_clock(store(), start + std::chrono::microseconds(1));
    EXPECT_EQ(store().now(), start + std::chrono::microseconds(1));
}

TEST_P(ClockTest, advancing_starts_from_the_real_time_if_the_clock_was_not_frozen) {
    const Timestamp before = store().now();
    testing::advance_clock(store(), 1h);
    EXPECT_GE(store().now(), before + 1h);
    EXPECT_EQ(store().now(), store().now());
}

TEST_P(ClockTest, restoring_returns_to_the_real_time) {
    freeze();
    testing::restore_clock(store());
    EXPECT_LT(store().now(), start);
    EXPECT_TRUE(store().verify().ok());
    EXPECT_TRUE(eventually([&, first = store().now()] { return store().now() > first; }));
}

TEST_P(ClockTest, verify_reports_a_replaced_clock) {
    freeze();
    const SchemaReport report = store().verify();
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].kind, "clock");
    EXPECT_EQ(report.findings[0].action, InstallAction::keep);
    EXPECT_TRUE(contains(report.findings[0].problem, "clock"));
}

}  // namespace
}  // namespace pawl::test
