// Any language can be a producer and a worker with plain SQL.
#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SqlTest : public StoreTest {
protected:
    [[nodiscard]] std::string f(const std::string& call) const {
        return place().schema() + "." + call;
    }
};
INSTANTIATE_TEST_SUITE_P(, SqlTest, ::testing::Values(BackendKind::postgres), backend_name);
using SqlWakeupTest = WithoutPolling<SqlTest>;
INSTANTIATE_TEST_SUITE_P(, SqlWakeupTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SqlTest, a_message_goes_through_its_life_in_sql) {
    const auto sql = database();
    sql->run("select " + f("create_queue('mail', max_attempts => 2)"));
    const std::string id =
        sql->value("select " + f("enqueue('mail', '{\"to\":\"ada\"}', priority => 5)"));
    auto rows =
        sql->rows("select message_id, delivery, payload from " + f("dequeue('mail', qty => 5)"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (Row{id, "1", "{\"to\":\"ada\"}"}));
    EXPECT_EQ(
        sql->value("select " + f("archive(array[" + id + "]::bigint[], array[1])")), "{done}"
    );
    EXPECT_EQ(
        sql->value("select " + f("archive(array[" + id + "]::bigint[], array[1])")), "{lease_lost}"
    );
    EXPECT_EQ(sql->value("select archived from " + f("metrics('mail')")), "1");
}

TEST_P(SqlWakeupTest, an_enqueue_in_sql_wakes_a_waiting_dequeue) {
    const Queue queue = make_queue();
    std::jthread producer([&] {
        EXPECT_TRUE(waits_for_work(store()));
        database()->run("select " + f("enqueue('work', '1')"));
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(SqlTest, errors_have_states_of_their_own) {
    const auto sql = database();
    const auto why = [&](const std::string& call) {
        try {
            sql->run("select " + f(call));
        } catch (const std::exception& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_TRUE(contains(why("enqueue('nowhere', '1')"), "'nowhere' does not exist"));
    EXPECT_TRUE(contains(why("create_queue('a b')"), "invalid queue name"));
    EXPECT_TRUE(contains(why("transition_worker(99, 'stop')"), "worker 99 does not exist"));
}

// --- workflows ---

class SqlRunTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
        make_workflow("job", {.backoff_base = 100ms, .backoff_cap = 1s});
    }
    // One value of a function's result; {id} is the leased run, {lease} its arrays.
    [[nodiscard]] std::string call(const std::string& function, const std::string& column = "*")
        const {
        return database()->value("select " + column + " from " + place().schema() + "." + function);
    }
    [[nodiscard]] static std::string lease(const Held& held) {
        return "array[" + std::to_string(held.id().value()) + "]::bigint[], array[" +
               std::to_string(held.message.delivery) + "]";
    }
    [[nodiscard]] std::vector<Row> history(RunId run) const {
        return database()->rows(
            "select kind, coalesce(step_id, ''), coalesce(status, '') from " + place().schema() +
            ".run_history(" + std::to_string(run.value()) + ")"
        );
    }
};
INSTANTIATE_TEST_SUITE_P(, SqlRunTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SqlRunTest, a_failed_step_is_retried_after_the_backoff_of_its_workflow) {
    const Held first = trigger_and_claim();
    const std::string failure =
        ", null, array['{\"type\":\"transient\",\"message\":\"no luck\"}']::json[], ";
    EXPECT_EQ(
        call("retry_runs(" + lease(first) + failure + "array['mail'], array[1], array[3])"),
        "{done}"
    );
    EXPECT_EQ(status(first.id()), RunStatus::running);
    EXPECT_EQ(step(first.id(), "mail").status, StepStatus::pending);
    EXPECT_EQ(step(first.id(), "mail").attempt, 3);
    const Message waiting = *message_of(first.id());
    EXPECT_GE(waiting.visible_at, start + 400ms) << "100 ms, doubled twice";
    EXPECT_LE(waiting.visible_at, start + 600ms) << "and at most a half more";
    EXPECT_EQ(waiting.last_error, "no luck");
    EXPECT_EQ(event_kinds(first.id()), "step_retry");
    EXPECT_EQ(
        call("retry_runs(" + lease(first) + failure + "array['mail'], array[1], array[3])"),
        "{lease_lost}"
    );
}

TEST_P(
    SqlRunTest, a_failed_run_counts_its_failures_and_never_waits_longer_than_half_above_the_cap
) {
    const RunId run = trigger();
    for (int failures = 1; failures <= 6; ++failures) {
        const Held held = claim_one();
        EXPECT_EQ(held.message.attempts, failures - 1);
        EXPECT_EQ(call("retry_runs(" + lease(held) + ", null, null)"), "{done}");
        advance(1500ms);
    }
    EXPECT_EQ(
        call("retry_runs(" + lease(claim_one()) + ", array[60000]::bigint[], null)"), "{done}"
    );
    EXPECT_EQ(message_of(run)->visible_at, store().now() + 60s) << "a delay that is given counts";
}

TEST_P(SqlRunTest, a_batch_gets_an_outcome_for_each_run) {
    (void)trigger_many(2);
    const auto held = claim_many(2);
    const std::string ids = "array[" + std::to_string(held[1].id().value()) + ", 4711, " +
                            std::to_string(held[0].id().value()) + "]::bigint[]";
    EXPECT_EQ(
        call("retry_runs(" + ids + ", array[1, 1, 7], array[5, 5, 5]::bigint[], null)"),
        "{done,lease_lost,lease_lost}"
    );
    EXPECT_EQ(
        call("pause(" + ids + ", array[1, 1, 1], array['a', 'a', 'a'], array[1, 1, 1])"),
        "{lease_lost,lease_lost,done}"
    );
    EXPECT_EQ(status(held[0].id()), RunStatus::paused);
}

TEST_P(SqlRunTest, a_pause_waits_for_its_signal) {
    const Held held = trigger_and_claim();
    EXPECT_EQ(call("pause(" + lease(held) + ", array['ask'], array[1], array['who?'])"), "{done}");
    EXPECT_EQ(status(held.id()), RunStatus::paused);
    EXPECT_EQ(step(held.id(), "ask").pause_message, "who?");
    EXPECT_EQ(message_of(held.id())->visible_at, start + 1h);
    EXPECT_EQ(event_kinds(held.id()), "paused");
    const std::string signal =
        "signal(" + std::to_string(held.id().value()) + ", 'ask', '\"ada\"')";
    (void)call(signal);
    EXPECT_EQ(claim_one().id(), held.id());
    EXPECT_EQ(step(held.id(), "ask").output->text, "\"ada\"");
    EXPECT_THROW((void)call(signal), std::runtime_error) << "the first one wins";
}

TEST_P(SqlRunTest, a_signal_before_its_pause_is_kept) {
    const Held held = trigger_and_claim();
    (void)call("signal(" + std::to_string(held.id().value()) + ", 'ask', '7')");
    EXPECT_EQ(call("pause(" + lease(held) + ", array['ask'], array[1])"), "{done}");
    EXPECT_EQ(status(held.id()), RunStatus::running);
    EXPECT_EQ(step(held.id(), "ask").output->text, "7");
    EXPECT_EQ(claim_one().id(), held.id());
}

TEST_P(SqlRunTest, a_history_has_everything_in_order) {
    const Held held = trigger_and_claim();
    advance(1s);
    commit(checkpoint(held.lease(), "price", 1));
    advance(1s);
    commit(pause_step(held.lease(), "ask", 2, 1h));
    advance(1s);
    store().resume(held.id(), "ask", Json{"1"});
    advance(1s);
    store().cancel(held.id(), "enough");
    advance(1s);
    const RunId again = store().retry(held.id()).id();
    EXPECT_EQ(
        history(held.id()),
        (std::vector<Row>{
            {"triggered", "", "QUEUED"},
            {"started", "", "RUNNING"},
            {"step_started", "price", "RUNNING"},
            {"step_succeeded", "price", "SUCCESS"},
            {"step_started", "ask", "RUNNING"},
            {"resumed", "ask", ""},
            {"step_succeeded", "ask", "SUCCESS"},
            {"cancelled", "", "CANCELLED"},
            {"retried", "", ""}})
    );
    EXPECT_EQ(
        history(again),
        (std::vector<Row>{
            {"triggered", "", "QUEUED"},
            {"step_taken_over", "price", "SUCCESS"},
            {"step_taken_over", "ask", "SUCCESS"}})
    );
    EXPECT_TRUE(history(RunId(4711)).empty());
}

TEST_P(SqlRunTest, operations_of_users_are_recorded_with_their_role) {
    const Held held = trigger_and_claim();
    store().cancel(held.id(), "enough");
    const std::string told = place().schema() + ".run_history(" +
                             std::to_string(held.id().value()) + ") where kind = 'cancelled'";
    EXPECT_EQ(
        database()->value("select data::json ->> 'by' from " + told),
        database()->value("select session_user")
    );
    EXPECT_EQ(database()->value("select data::json ->> 'message' from " + told), "enough");
}

TEST_P(SqlRunTest, a_step_of_a_plain_sql_worker_is_an_event_if_the_worker_records_it) {
    const Held held = trigger_and_claim();
    (void)call(
        "record_steps(" + lease(held) +
        ", array['a'], array[1], array['ERROR'], array[1], errors => array['{}'])"
    );
    const std::string events = "add_step_events(" + lease(held) +
                               ", array['a'], array['ERROR'], array['step_failed'], " +
                               R"(array['{"step":"a"}'])";
    (void)call(events + ")");
    (void)call(events + ", true)");
    EXPECT_EQ(event_kinds(held.id()), "step_failed") << "a repeated one tells nothing more";
}

}  // namespace
}  // namespace pawl::test
