// What the role of a worker may not do: it ends runs only by finish_run(), and tasks only by
// reports about tasks.
#include <fmt/format.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class WorkerRightsTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema());
        make_workflow();
    }
    [[nodiscard]] std::string value(const std::string& call) const {
        return sql_->value("select " + call);
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(
    , WorkerRightsTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(WorkerRightsTest, a_suspension_ends_no_run) {
    for (const std::string status : {"SUCCESS", "ERROR", "CANCELLED", "QUEUED", "DONE"}) {
        const RunId run = trigger_and_claim().id();
        const RunId other = trigger_and_claim().id();
        EXPECT_EQ(
            value(fmt::format(
                "suspend_runs(array[{}, {}], array[1, 1], array['{}', 'RUNNING'], array[1, 1])",
                run.value(),
                other.value(),
                status
            )),
            "{invalid,done}"
        ) << status;
        EXPECT_EQ(this->status(run), RunStatus::running);
        EXPECT_EQ(message_of(run)->state, MessageState::leased);
        EXPECT_EQ(message_of(other)->state, MessageState::waiting);
    }
}

TEST_P(WorkerRightsTest, a_suspension_gives_no_step_its_result) {
    const RunId run = trigger_and_claim().id();
    for (const std::string status : {"SUCCESS", "ERROR", "SKIPPED", "CANCELLED"}) {
        EXPECT_EQ(
            value(fmt::format(
                "suspend_runs(array[{}], array[1], array['PAUSED'], array[1], step_ids => "
                "array['a'], positions => array[1], step_statuses => array['{}'], step_attempts => "
                "array[1])",
                run.value(),
                status
            )),
            "{invalid}"
        ) << status;
    }
    EXPECT_TRUE(store().run(run).steps().empty());
}

TEST_P(WorkerRightsTest, a_task_is_not_ended_as_a_run) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    const auto id = held.message.id.value();
    EXPECT_EQ(value(fmt::format("outcome from finish_run({}, 1, '1')", id)), "lease_lost");
    EXPECT_EQ(
        value(fmt::format("outcomes from finish_runs(array[{}], array[1], array['1'])", id)),
        "{lease_lost}"
    );
    EXPECT_EQ(
        value(fmt::format("suspend_runs(array[{}], array[1], array['PAUSED'], array[1])", id)),
        "{lease_lost}"
    );
    EXPECT_EQ(value(fmt::format("record_step({}, 1, 'a', 1, 'SUCCESS', 1)", id)), "lease_lost");
    EXPECT_EQ(commit(complete_write(held)), WriteStatus::done);
    drain();
    EXPECT_EQ(status(run), RunStatus::success);
}

}  // namespace
}  // namespace pawl::test
