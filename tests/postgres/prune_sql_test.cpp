// pawl.prune(): a pass in one call, for timers of the database.
#include "support/retention_test.h"

namespace pawl::test {
namespace {

class PruneSqlTest : public RetentionTest {
protected:
    [[nodiscard]] Row call(const std::string& arguments = "") const {
        return database()
            ->rows("select * from " + place().schema() + ".prune(" + arguments + ")")
            .front();
    }
};
INSTANTIATE_TEST_SUITE_P(, PruneSqlTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(PruneSqlTest, one_call_prunes_up_to_max_rows_and_returns_whether_more_are_left) {
    make_workflow("other");
    store().set_retention(RetentionKind::success, all_names, {.age = 1 * one_day});
    for (int i = 0; i < 3; ++i) {
        (void)succeed();
        (void)succeed("other");
    }
    const RunId failed = fail_run();
    EXPECT_EQ(call(), (Row{"0", "f"}));
    advance(2 * one_day);
    EXPECT_EQ(call("4"), (Row{"4", "t"}));
    EXPECT_EQ(call("4"), (Row{"2", "f"}));
    EXPECT_EQ(count(Rows::runs), 1);
    EXPECT_TRUE(exists(failed));
    EXPECT_THROW((void)call("0"), std::runtime_error);
}

TEST_P(PruneSqlTest, rows_that_must_stay_do_not_stop_it) {
    const RunId parent = trigger("job");
    store().set_retention(RetentionKind::success, "job", {.age = 1 * one_day});
    for (int i = 0; i < 3; ++i) {
        const RunId child = trigger("job", {}, {.parent = parent});
        const auto claimed = claim(2).messages;
        for (const Message& message : claimed) {
            if (message.id.value() != child.value()) continue;
            ASSERT_EQ(commit(success(message.lease())), WriteStatus::done);
        }
    }
    const RunId free = trigger("job");
    ASSERT_EQ(commit(success(claim_one().lease())), WriteStatus::done);
    advance(2 * one_day);
    EXPECT_EQ(call("1"), (Row{"1", "t"}));
    EXPECT_FALSE(exists(free));
    EXPECT_EQ(call(), (Row{"0", "f"})) << "a live parent keeps its children";
}

TEST_P(PruneSqlTest, a_policy_whose_rows_must_stay_does_not_stop_the_others) {
    make_workflow("other");
    const RunId parent = trigger("job");
    store().set_retention(RetentionKind::success, all_names, {.age = 1 * one_day});
    for (int i = 0; i < 12; ++i) {
        const RunId child = trigger("job", {}, {.parent = parent});
        const auto claimed = claim(2).messages;
        for (const Message& message : claimed) {
            if (message.id.value() != child.value()) continue;
            ASSERT_EQ(commit(success(message.lease())), WriteStatus::done);
        }
    }
    const RunId other = succeed("other");
    advance(2 * one_day);
    EXPECT_EQ(call("1"), (Row{"1", "t"}));
    EXPECT_FALSE(exists(other));
    EXPECT_EQ(call("1"), (Row{"0", "f"})) << "a live parent keeps its children";
}

}  // namespace
}  // namespace pawl::test
