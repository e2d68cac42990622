// Locks are taken from a caller down to the called run. A session that ends a run from below locks
// the callers only if they are free: it never waits, so it blocks no other session.
#include <fmt/format.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class CallLockTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
        sql_ = session();
        sql_->run("select create_workflow('parent'); select create_workflow('child')");
    }
    // If something waits for a lock, the test fails instead of hanging.
    [[nodiscard]] std::unique_ptr<Database> session() const {
        auto made = database();
        made->run("set search_path = " + place().schema() + "; set lock_timeout = '10s'");
        return made;
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::string status(const std::string& run) const {
        return sql_->value("select status from get_run(" + run + ")");
    }
    [[nodiscard]] std::string claim(const std::string& workflow) const {
        return sql_->value(
            "select coalesce(max(message_id), 0) from claim_runs(workflow_ids(array['" + workflow +
            "']), 1)"
        );
    }
    struct Call {
        std::string parent;
        std::string child;
    };
    // A run that waits at its step 's' for another one.
    [[nodiscard]] Call call() const {
        Call made;
        sql_->run("select trigger_batch(array['parent'], array['1'])");
        made.parent = claim("parent");
        sql_->run(fmt::format(
            "select call_runs(array[{0}], array[1], array[0], array['s'], array[1], array[1], "
            "array['null'], array[0], array[''], array[''], array['child'], array['1'], "
            "idempotency_keys => array['of {0}'])",
            made.parent
        ));
        made.child = sql_->value("select run_id from calls where caller_run_id = " + made.parent);
        return made;
    }
    // A run of a flow whose only task waits for a run of the flow 'below'.
    [[nodiscard]] Call delegation() const {
        for (const std::string flow : {"above", "below"})
            sql_->run(fmt::format(
                "select create_flow('{0}', max_attempts => 1); select add_step('{0}', 'a')", flow
            ));
        Call made;
        sql_->run("select start_flow('above')");
        const Row task =
            sql_->rows("select msg_id, run_id from poll_for_tasks('above', 30, 1)").at(0);
        made.parent = task[1];
        sql_->run(fmt::format(
            "select delegate_tasks(array[{}], array[1], array[{}], array['a'], array[0], "
            "array['below'], array['1'], idempotency_keys => array['k'])",
            task[0],
            task[1]
        ));
        made.child = sql_->value("select run_id from calls where caller_run_id = " + made.parent);
        return made;
    }
    // A session that is about to cancel the run: it holds the first of its locks.
    [[nodiscard]] std::unique_ptr<Database> hold(const std::string& run) const {
        auto other = session();
        other->run("begin; select from messages where message_id = " + run + " for update");
        other->run(
            "select from runs where run_id = " + run + " and remaining_steps is not null for update"
        );
        return other;
    }
    void cancel_and_commit(Database& other, const Call& call) const {
        other.run("select cancel(" + call.parent + "); commit");
        EXPECT_EQ(status(call.parent), "CANCELLED");
        EXPECT_EQ(status(call.child), "CANCELLED");
        EXPECT_EQ(sql_->number("select count(*) from messages"), 0);
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, CallLockTest, ::testing::Values(BackendKind::postgres), backend_name);

const std::string fail_children = "select fail_unhandled(array['child', 'below'])";

TEST_P(CallLockTest, a_run_without_handler_is_left_while_its_caller_is_locked) {
    const Call first = call();
    const auto other = hold(first.parent);
    EXPECT_EQ(sql().value(fail_children), "{}");
    cancel_and_commit(*other, first);
    const Call second = call();
    EXPECT_EQ(sql().value(fail_children), "{" + second.child + "}");
    EXPECT_EQ(status(second.child), "ERROR");
    EXPECT_EQ(sql().value("select status from list_steps(" + second.parent + ")"), "ERROR");
    EXPECT_EQ(claim("parent"), second.parent) << "it continues";
}

TEST_P(CallLockTest, a_flow_without_handler_is_left_while_its_caller_is_locked) {
    const Call both = delegation();
    {
        const auto other = hold(both.parent);
        EXPECT_EQ(sql().value(fail_children), "{}");
        other->run("rollback");
    }
    EXPECT_EQ(sql().value(fail_children), "{" + both.child + "}");
    EXPECT_EQ(status(both.child), "ERROR");
    EXPECT_EQ(status(both.parent), "ERROR");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(CallLockTest, a_flow_is_cancelled_while_what_it_waits_for_is_failed) {
    const Call both = delegation();
    const auto other = hold(both.parent);
    EXPECT_EQ(sql().value(fail_children), "{}");
    cancel_and_commit(*other, both);
}

TEST_P(CallLockTest, a_poisonous_run_is_failed_as_soon_as_its_caller_is_free) {
    const Call both = call();
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(claim("child"), both.child);
        advance(31s);
    }
    {
        const auto other = hold(both.parent);
        EXPECT_EQ(claim("child"), "0");
        EXPECT_EQ(status(both.child), "RUNNING");
        EXPECT_EQ(sql().number("select count(*) from archive"), 0);
        other->run("rollback");
    }
    EXPECT_EQ(claim("child"), "0");
    EXPECT_EQ(status(both.child), "RUNNING") << "it comes up again in a moment";
    advance(100ms);
    EXPECT_EQ(claim("child"), "0");
    EXPECT_EQ(status(both.child), "ERROR");
    EXPECT_EQ(claim("parent"), both.parent);
}

}  // namespace
}  // namespace pawl::test
