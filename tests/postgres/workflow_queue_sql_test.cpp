// SQL callers cannot settle the messages of runs and tasks either.
#include <fmt/format.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class WorkflowQueueSqlTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema());
        make_workflow();
        diamond().create(store());
        make_queue("plain").enqueue(Json{"1"});
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::string why(const std::string& call) const {
        try {
            sql().run("select " + call);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    }
    // One outcome for each of three: a leased run, a plain message, a leased task.
    [[nodiscard]] std::string outcomes(const std::string& function, const std::string& more) {
        const std::string run = sql().value("select " + place().schema() + ".trigger('job')");
        sql().run("select claim_runs(workflow_ids(array['job']), 100)");
        const std::string message = sql().value("select enqueue('plain', '1')");
        sql().run("select dequeue('plain', qty => 100)");
        (void)start_flow();
        const std::string task =
            sql().value("select max(msg_id) from read_with_poll('flow', 30, 100, 0)");
        return sql().value(fmt::format(
            "select {}(array[{}, {}, {}], array[1, 1, 1]{})", function, run, message, task, more
        ));
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(
    , WorkflowQueueSqlTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(WorkflowQueueSqlTest, runs_are_not_dequeued) {
    const RunId run = trigger();
    for (const std::string call : {"dequeue('job')", "read_with_poll('job', 30, 1, 0)"})
        EXPECT_TRUE(contains(why(call), "queue 'job' carries the runs of a workflow")) << call;
    EXPECT_EQ(claim_one().id(), run);
}

TEST_P(WorkflowQueueSqlTest, each_message_has_its_own_outcome) {
    const std::string expected = "{workflow_queue,done,workflow_queue}";
    EXPECT_EQ(outcomes("archive", ""), expected);
    EXPECT_EQ(outcomes("delete", ""), expected);
    EXPECT_EQ(outcomes("fail", ", array['no', 'no', 'no'], array[0, 0, 0]::bigint[]"), expected);
    EXPECT_EQ(outcomes("bury", ", array['no', 'no', 'no']"), expected);
    EXPECT_EQ(
        sql().number("select count(*) from runs r join messages m on m.message_id = r.run_id"), 4
    );
    EXPECT_EQ(sql().number("select count(*) from tasks join messages using (message_id)"), 4);
}

TEST_P(WorkflowQueueSqlTest, settle_names_the_queue) {
    make_queue("other").enqueue(Json{"1"});
    const std::string plain = sql().value("select message_id from dequeue('plain')");
    const std::string other = sql().value("select message_id from dequeue('other')");
    const std::string both = fmt::format("array[{}, {}], array[1, 1]", plain, other);
    EXPECT_EQ(
        sql().value("select settle('other', 'extend', " + both + ", array[1000, 1000])"),
        "{other_queue,done}"
    );
    EXPECT_EQ(
        sql().value(
            "select settle('plain', 'fail', " + both + ", array[1000, 1000], array['no', 'no'])"
        ),
        "{done,other_queue}"
    );
    EXPECT_EQ(sql().value("select settle('other', 'archive', " + both + ")"), "{lease_lost,done}");
    EXPECT_EQ(sql().value("select last_error from messages where message_id = " + plain), "no");
    EXPECT_TRUE(contains(why("settle('nope', 'archive', " + both + ")"), "'nope' does not exist"));
    EXPECT_TRUE(contains(why("settle('other', 'eat', " + both + ")"), "unknown value 'eat'"));
}

}  // namespace
}  // namespace pawl::test
