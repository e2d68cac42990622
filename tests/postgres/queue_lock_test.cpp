// Any role of the database can take an advisory lock. Producers, dispatchers of the outbox and
// programs that define flows never wait for one.
#include "support/race_test.h"

namespace pawl::test {
namespace {

constexpr const char* ensure_new =
    R"(select ensure_flow('{"slug": "new", "steps": [{"slug": "a"}]}'))";

class QueueLockTest : public RaceTest {
protected:
    void SetUp() override {
        RaceTest::SetUp();
        sql().run("select create_queue('mail'); select create_workflow('job')");
        make_flow("flow");
        stranger_ = session();
        stranger_->run(
            "select pg_advisory_lock(queue_lock_key(queue_id)), "
            "pg_advisory_lock_shared(queue_lock_key(queue_id)) from queues"
        );
    }
    // A call that would wait for the other session's locks fails.
    [[nodiscard]] std::string at_once(const std::string& query) const {
        sql().run("set statement_timeout = '3s'");
        return sql().value(query);
    }
    void leave() { stranger_.reset(); }

private:
    std::unique_ptr<Database> stranger_;
};
INSTANTIATE_TEST_SUITE_P(, QueueLockTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(QueueLockTest, enqueue_and_trigger_do_not_wait_for_it) {
    EXPECT_NE(at_once("select enqueue('mail', '1')"), "");
    const std::string triggers = "select " + place().schema() + ".trigger('job'";
    EXPECT_NE(at_once(triggers + ")"), "");
    EXPECT_NE(at_once(triggers + ", tags => array['a'])"), "");
    EXPECT_NE(at_once(triggers + ", idempotency_key => 'k')"), "");
    const std::string run = at_once("select run_id from start_flow('flow')");
    EXPECT_NE(run, "");
    (void)at_once("select cancel(" + run + ")");
    EXPECT_NE(at_once("select retry(" + run + ")"), "");
    EXPECT_EQ(at_once("select replay('mail')"), "0");
    EXPECT_EQ(sql().number("select count(*) from runs"), 5);
}

TEST_P(QueueLockTest, claims_and_reports_of_the_outbox_do_not_wait_for_one) {
    const auto other = session();
    other->run("select pg_advisory_lock(hashint8extended(0, 'outbox'::regclass::oid::bigint))");
    sql().run("select publish('event', '1')");
    const std::string claimed =
        at_once("select outbox_id from claim_outbox(1) where outbox_id is not null");
    EXPECT_NE(claimed, "");
    EXPECT_EQ(
        at_once("select (report_outbox(array[" + claimed + "], array[1], array['park']))[1]"),
        "done"
    );
    EXPECT_EQ(at_once("select retry_parked()"), "1");
}

TEST_P(QueueLockTest, definitions_do_not_wait_for_one) {
    const auto other = session();
    other->run(
        "select pg_advisory_lock(queue_lock_key(-1)), "
        "pg_advisory_lock(hashtextextended('flow', 'flow_steps'::regclass::oid::bigint))"
    );
    sql().run("select create_workflow('second')");
    (void)at_once("select create_workflow('second', dead_letter_workflow => 'job')");
    EXPECT_EQ(at_once("select ensure_flow(get_flow_shape('flow'))"), "same");
    EXPECT_EQ(at_once(ensure_new), "created");
}

// A claim must see the result of every report that has begun.
TEST_P(QueueLockTest, a_claim_of_the_outbox_waits_for_reports_and_reports_do_not_wait_for_reports) {
    sql().run("select publish('event', '1'), publish('event', '2'), publish('event', '3')");
    sql().run("select claim_outbox(2)");
    const auto report = [](const std::string& event) {
        return "select (report_outbox(array[" + event + "], array[1], array['published']))[1]";
    };
    const auto first = begin(report("1"));
    EXPECT_EQ(at_once(report("2")), "done");
    auto claimed = waits("select outbox_id from claim_outbox(1) where outbox_id is not null");
    first->run("commit");
    EXPECT_EQ(claimed.get(), "3");
}

TEST_P(QueueLockTest, programs_that_start_together_create_a_flow_once) {
    const auto first = begin(ensure_new);
    auto second = waits(ensure_new);
    first->run("commit");
    EXPECT_EQ(second.get(), "same");
}

TEST_P(QueueLockTest, poison_is_buried_in_a_queue_under_it) {
    sql().run("select create_queue('work', max_strikes => 1, dead_letter_queue => 'mail')");
    sql().run("select enqueue('work', '1')");
    EXPECT_NE(at_once("select message_id from dequeue('work')"), "");
    testing::advance_clock(store(), 31s);
    sql().run("select dequeue('work')");
    EXPECT_EQ(store().queue("mail").stats().ready, 1);
}

TEST_P(QueueLockTest, a_queue_is_not_deleted_under_an_enqueue_that_could_not_share_it) {
    const auto producer = begin("select enqueue('mail', '1')");
    auto deleted = waits("select delete_queue('mail')");
    producer->run("select enqueue('mail', '2'); commit");
    leave();
    EXPECT_TRUE(contains(deleted.get(), "has 2 messages"));
}

TEST_P(QueueLockTest, an_enqueue_waits_for_a_queue_that_is_being_deleted) {
    leave();
    const auto operators = begin("select delete_queue('mail')");
    auto added = waits("select enqueue('mail', '1')");
    operators->run("commit");
    EXPECT_TRUE(contains(added.get(), "'mail' does not exist"));
}

TEST_P(QueueLockTest, a_deletion_waits_for_sessions_that_share_the_queue) {
    leave();
    const auto producer = begin("select enqueue('mail', '1')");
    auto deleted = waits("select delete_queue('mail')");
    // A new producer waits for the deletion; one that already holds the queue shared continues.
    const auto late = session();
    auto added = waits(*late, "select enqueue('mail', '3')");
    producer->run("select enqueue('mail', '2'); commit");
    EXPECT_TRUE(contains(deleted.get(), "has 2 messages"));
    EXPECT_NE(added.get(), "");
    EXPECT_EQ(store().queue("mail").stats().ready, 3);
}

}  // namespace
}  // namespace pawl::test
