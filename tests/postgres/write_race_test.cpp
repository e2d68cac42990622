// Writes that meet another transaction: each statement of a function sees what was committed since
// the one before, and locks are released between them.
#include <functional>
#include <gmock/gmock.h>

#include "support/race_test.h"

namespace pawl::test {
namespace {

class WriteRaceTest : public RaceTest {
protected:
    void SetUp() override {
        RaceTest::SetUp();
        sql().run("select create_workflow('parent'); select create_workflow('child')");
    }
    // A leased run of the workflow, at its first delivery.
    [[nodiscard]] std::string in_hand(const std::string& workflow) const {
        (void)trigger(workflow);
        return sql().value(fmt::format(
            "select max(message_id) from claim_runs(workflow_ids(array['{}']), 1)", workflow
        ));
    }
    // `runs` wait at their step 's' for runs of 'child' with these keys.
    [[nodiscard]] static std::string call(
        const std::vector<std::string>& runs, const std::vector<std::string>& keys
    ) {
        const auto size = runs.size();
        const auto all = [&](const std::string& value) {
            std::string text;
            for (std::size_t i = 0; i < size; ++i) text += (i == 0 ? "" : ", ") + value;
            return "array[" + text + "]";
        };
        std::string quoted;
        for (const auto& key : keys) quoted += (quoted.empty() ? "'" : ", '") + key + "'";
        return fmt::format(
            "select outcomes from call_runs(array[{}], {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
            "idempotency_keys => array[{}])",
            fmt::join(runs, ", "),
            all("1"),
            all("0"),
            all("'s'"),
            all("1"),
            all("1"),
            all("'null'"),
            all("0"),
            all("''"),
            all("''"),
            all("'child'"),
            all("'1'"),
            quoted
        );
    }
    // Returns the result of the statement, or its error, after `meanwhile` was executed, for which
    // the statement waits.
    std::string wait_for(const std::string& statement, const std::function<void()>& meanwhile)
        const {
        const auto other = session();
        auto answer = waits(*other, statement);
        meanwhile();
        return answer.get();
    }
    void fails_with(const std::string& code, Database& database, const std::string& statement)
        const {
        database.run("savepoint before");
        database.run(fmt::format(
            "do $$ begin perform {}; raise exception 'it went through'; "
            "exception when sqlstate '{}' then null; end $$",
            statement,
            code
        ));
    }
};
INSTANTIATE_TEST_SUITE_P(, WriteRaceTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(WriteRaceTest, a_run_that_is_locked_while_its_child_is_created_does_not_wait) {
    const std::string locked = in_hand("parent");
    const std::string other = in_hand("parent");
    const auto heartbeat = session();
    heartbeat->run("begin; select extend(array[" + locked + "], array[1], array[30000])");
    const auto holder = session();
    holder->run("begin; select lock_queue(queue_id('child'))");
    const auto outcomes = wait_for(call({locked, other}, {"a", "b"}), [&] {
        heartbeat->run("commit");
        holder->run("commit");
    });
    EXPECT_EQ(outcomes, "{busy,done}");
    EXPECT_EQ(status(locked), "RUNNING");
    EXPECT_EQ(status(other), "PAUSED");
    EXPECT_EQ(sql().number("select count(*) from calls"), 1);
    EXPECT_EQ(sql().value(call({locked}, {"a"})), "{done}");
    EXPECT_EQ(sql().number("select count(*) from calls"), 2);
}

TEST_P(WriteRaceTest, a_run_that_ends_while_it_is_called_passes_its_result_to_the_caller) {
    const std::string child = sql().value(
        "select run_ids[1] from trigger_batch(array['child'], array['1'], idempotency_keys => "
        "array['shared'])"
    );
    sql().run("select claim_runs(workflow_ids(array['child']), 1)");
    const std::string parent = in_hand("parent");
    const auto caller = session();
    caller->run("begin");
    EXPECT_EQ(caller->value(call({parent}, {"shared"})), "{done}");
    const auto outcomes = wait_for(
        "select outcomes from finish_runs(array[" + child + "], array[1], array['7'])",
        [&] { caller->run("commit"); }
    );
    EXPECT_EQ(outcomes, "{done}");
    EXPECT_EQ(sql().value("select output from list_steps(" + parent + ")"), "7");
    EXPECT_EQ(status(parent), "RUNNING");
    EXPECT_EQ(sql().number("select count(*) from calls"), 0);
}

TEST_P(WriteRaceTest, a_run_is_called_once) {
    const std::string first = in_hand("parent");
    const std::string second = in_hand("parent");
    EXPECT_EQ(sql().value(call({first}, {"shared"})), "{done}");
    sql().run("begin");
    fails_with("PW003", sql(), "from (" + call({second}, {"shared"}) + ") c");
    sql().run("rollback");
    EXPECT_EQ(status(second), "RUNNING");
}

TEST_P(WriteRaceTest, a_message_is_added_to_the_queue_that_was_created_again_in_the_meantime) {
    sql().run("select create_queue('q')");
    const auto other = session();
    other->run("begin; select delete_queue('q'); select create_queue('q')");
    const auto id =
        wait_for("select coalesce(enqueue('q', '1'), 0)", [&] { other->run("commit"); });
    EXPECT_EQ(sql().value("select message_id from messages where queue_id = queue_id('q')"), id);
}

TEST_P(WriteRaceTest, a_dead_letter_holds_the_queue_it_goes_to) {
    sql().run("select create_queue('d'); select create_queue('q', dead_letter_queue => 'd')");
    const std::string message = sql().value("select enqueue('q', '1')");
    sql().run("select dequeue('q')");
    const std::string bury = "select bury(array[" + message + "], array[1], array['no use'])";
    {
        const auto other = session();
        other->run("begin; select delete_queue('d')");
        EXPECT_EQ(sql().value(bury), "{busy}");
        other->run("rollback");
    }
    const auto burier = session();
    burier->run("begin");
    EXPECT_EQ(burier->value(bury), "{done}");
    const auto refused = wait_for("select delete_queue('d')", [&] { burier->run("commit"); });
    EXPECT_THAT(refused, ::testing::HasSubstr("has 1 messages"));
    EXPECT_EQ(
        sql().value("select message_id from messages where queue_id = queue_id('d')"), message
    );
}

// Such a transaction reads its first snapshot, even after it has waited.
TEST_P(WriteRaceTest, a_repeatable_read_transaction_cannot_write_to_what_is_gone) {
    sql().run("select create_queue('q')");
    const auto user = session();
    user->run("begin isolation level repeatable read; select from queues");
    sql().run("select delete_queue('q'); select delete_workflow('child')");
    fails_with("40001", *user, "enqueue('q', '1')");
    fails_with("40001", *user, "trigger_batch(array['child'], array['1'])");
    fails_with(
        "40001", *user, "trigger_batch(array['child'], array['1'], idempotency_keys => array['k'])"
    );
    user->run("commit");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
}

}  // namespace
}  // namespace pawl::test
