// A worker whose row was purged while the worker was disconnected.
#include <atomic>
#include <latch>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class WorkerRegistrationTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        make_workflow();
    }
    [[nodiscard]] WorkerBuilder builder() const {
        return worker("w").share_threads(shares_threads()).heartbeat(20ms);
    }
    void purge(WorkerId id) const {
        database()->run(
            "delete from " + place().table("workers") +
            " where worker_id = " + std::to_string(id.value())
        );
    }
};
PAWL_FOR_EACH_BACKEND(WorkerRegistrationTest);

TEST_P(WorkerRegistrationTest, a_purged_worker_drops_its_leases_registers_again_and_works) {
    std::latch begun(1);
    std::atomic<bool> told = false;
    std::atomic<bool> first = true;
    auto made = builder()
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            if (!first.exchange(false)) return;
                            begun.count_down();
                            told = eventually([&] { return ctx.stop_token().stop_requested(); });
                        }
                    )
                    .create(store());
    const WorkerId before = made.id();
    const RunId held = trigger();
    made.start();
    begun.wait();
    purge(before);
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    EXPECT_TRUE(eventually([&] { return told.load(); })) << "its lease was dropped";
    EXPECT_EQ(made.status(), WorkerStatus::polling);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::polling);
    const RunId later = trigger();
    EXPECT_TRUE(finished(later));
    EXPECT_EQ(info(later).worker, made.id());
    EXPECT_EQ(status(held), RunStatus::running) << "nothing was reported";
    EXPECT_TRUE(contains(log_text(), "registered again"));
}

TEST_P(WorkerRegistrationTest, a_suspended_worker_stays_suspended) {
    auto made = builder().handle("job", [](Context&) {}).create(store());
    made.start();
    made.suspend();
    const WorkerId before = made.id();
    purge(before);
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    EXPECT_EQ(made.status(), WorkerStatus::suspended);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::suspended);
}

TEST_P(WorkerRegistrationTest, poll_once_registers_again) {
    auto made = worker("w").handle("job", [](Context&) {}).create(store());
    purge(made.id());
    const RunId run = trigger();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::ready);
}

TEST_P(WorkerRegistrationTest, a_worker_that_was_stopped_does_not_come_back) {
    auto made = builder().handle("job", [](Context&) {}).create(store());
    made.start();
    store().transition_worker(made.id(), WorkerEvent::stop);
    EXPECT_TRUE(eventually([&] { return made.status() == WorkerStatus::stopped; }));
    purge(made.id());
    made.stop();
    EXPECT_TRUE(store().workers().empty());
}

}  // namespace
}  // namespace pawl::test
