// Operations on flows over a connection that breaks: calls wait while the server is away, and a
// report whose answer was lost is repeated.
#include "support/far_store_test.h"

namespace pawl::test {
namespace {

class FlowGateTest : public FarStoreTest {
protected:
    void SetUp() override {
        FarStoreTest::SetUp();
        freeze();
        flow("flow").step("a").step("b", {"a"}).max_attempts(2).create(store());
    }
    [[nodiscard]] Task polled() const {
        (void)flow("flow").start().execute(store());
        const auto tasks = far().poll_for_tasks("flow");
        return tasks.at(0);
    }
    [[nodiscard]] TaskInfo seen(const Task& task) const {
        return store().run(task.task.run).tasks().at(0);
    }
    // The server is away, and returns when the call has begun to wait for it.
    template <class Call>
    void during_outage(Call call) {
        const std::string before = log_text();
        gate().refuse_new_connections(true);
        gate().drop_connections();
        std::jthread repair([&] {
            EXPECT_TRUE(eventually([&] {
                return log_text().find("database does not answer", before.size()) !=
                       std::string::npos;
            }));
            gate().refuse_new_connections(false);
        });
        EXPECT_NO_THROW(call());
    }
};
INSTANTIATE_TEST_SUITE_P(, FlowGateTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(FlowGateTest, calls_wait_while_the_server_is_away) {
    during_outage([&] {
        EXPECT_EQ(far().ensure_flow({.slug = "new", .steps = {{"a"}}}), EnsuredFlow::created);
    });
    const Task failed = polled();
    during_outage([&] {
        EXPECT_EQ(far().fail_task(failed.task, "no", failed.delivery), TaskOutcome::done);
    });
    const Task completed = polled();
    during_outage([&] {
        EXPECT_EQ(
            far().complete_task(completed.task, Json{"1"}, completed.delivery), TaskOutcome::done
        );
    });
}

TEST_P(FlowGateTest, a_completion_whose_answer_is_lost_is_repeated_and_done) {
    for (const bool fenced : {true, false}) {
        const Task task = polled();
        gate().lose_answer_to("complete_task");
        const int delivery = fenced ? task.delivery : 0;
        EXPECT_EQ(far().complete_task(task.task, Json{R"({"n": 1})"}, delivery), TaskOutcome::done);
        EXPECT_EQ(seen(task).output, Json{R"({"n": 1})"});
        EXPECT_EQ(store().complete_task(task.task, Json{"2"}), TaskOutcome::finished);
        (void)store().poll_for_tasks("flow", 10);  // so that no dependents are left
    }
    EXPECT_EQ(gate().lost(), 2);
}

TEST_P(FlowGateTest, a_completion_whose_request_is_lost_is_repeated_and_done) {
    const Task task = polled();
    gate().lose_request("complete_task");
    EXPECT_EQ(far().complete_task(task.task, Json{"1"}, task.delivery), TaskOutcome::done);
    EXPECT_EQ(seen(task).status, TaskStatus::success);
}

TEST_P(FlowGateTest, a_failure_whose_answer_is_lost_is_repeated_and_counts_once) {
    const Task task = polled();
    gate().lose_answer_to("fail_task");
    EXPECT_EQ(far().fail_task(task.task, "no luck", task.delivery), TaskOutcome::done);
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_EQ(seen(task).status, TaskStatus::queued);
    EXPECT_EQ(seen(task).attempts, 1);
}

TEST_P(FlowGateTest, a_failure_without_a_delivery_whose_answer_is_lost_stays_in_doubt) {
    const Task task = polled();
    gate().lose_answer_to("fail_task");
    EXPECT_TRUE(error_of([&] { far().fail_task(task.task, "no luck"); }).in_doubt());
    EXPECT_EQ(seen(task).attempts, 1);
}

TEST_P(FlowGateTest, an_ensured_flow_whose_answer_is_lost_is_ensured) {
    gate().lose_answer_to("ensure_flow");
    EXPECT_EQ(far().ensure_flow({.slug = "new", .steps = {{"a"}}}), EnsuredFlow::same);
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_EQ(store().flow_shape("new").steps.size(), 1U);
}

}  // namespace
}  // namespace pawl::test
