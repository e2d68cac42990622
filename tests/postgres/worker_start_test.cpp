// Sessions that are lost while a worker is created and started.
#include "support/far_store_test.h"

namespace pawl::test {
namespace {

class WorkerStartTest : public FarStoreTest {
protected:
    void SetUp() override {
        FarStoreTest::SetUp();
        make_workflow();
    }
    [[nodiscard]] Worker make_worker() const {
        return worker("w").handle("job", [](Context&) {}).create(far());
    }
};
INSTANTIATE_TEST_SUITE_P(, WorkerStartTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(WorkerStartTest, a_session_lost_during_create_is_retried) {
    for (const char* const statement : {"list_queues", "register_worker"}) {
        const int before = gate().lost();
        gate().lose_answer_to(statement);
        auto made = make_worker();
        EXPECT_EQ(gate().lost(), before + 1) << statement;
        made.start();
        EXPECT_TRUE(finished(trigger()));
    }
}

TEST_P(WorkerStartTest, a_session_lost_during_start_is_retried) {
    auto made = make_worker();
    gate().lose_answer_to("transition_worker");
    made.start();
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_TRUE(finished(trigger()));
}

}  // namespace
}  // namespace pawl::test
