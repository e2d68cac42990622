// The times of a step while the database does not accept its commit.
#include <atomic>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

using Steady = std::chrono::steady_clock;

class StepTimesTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    [[nodiscard]] ConnectOptions options() const override {
        ConnectOptions options = WorkflowTest::options();
        options.log = [this, log = options.log](LogLevel level, std::string_view line) {
            if (line.find("database does not answer") != std::string_view::npos)
                failed_at_ = Steady::now();
            log(level, line);
        };
        return options;
    }
    // Until the returned object is destroyed, the store opened with impatient_url() cannot record
    // steps of the run.
    [[nodiscard]] std::shared_ptr<void> refuse_steps_of(RunId run) const {
        if (on_postgres()) return kit().obstruct_steps_of(run);
        std::shared_ptr<Database> lock = database();
        lock->begin();
        return {lock.get(), [lock](void*) { lock->run("rollback"); }};
    }
    mutable std::atomic<Steady::time_point> failed_at_ = Steady::time_point{};
};
PAWL_FOR_EACH_BACKEND(StepTimesTest);

TEST_P(StepTimesTest, a_step_starts_with_its_body_however_long_its_commit_was_retried) {
    make_workflow();
    const RunId run = trigger();
    const Store impatient = connect(kit().impatient_url(), options());
    std::shared_ptr<void> obstacle;
    std::atomic<Steady::time_point> entered = Steady::time_point{};
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("late", [&] {
                                entered = Steady::now();
                                obstacle = refuse_steps_of(run);
                            });
                        }
                    )
                    .share_threads(shares_threads())
                    .create(impatient);
    made.start();
    EXPECT_TRUE(eventually([&] { return failed_at_.load() != Steady::time_point{}; }));
    obstacle.reset();
    ASSERT_TRUE(finished(run));
    made.stop();
    const StepInfo late = step(run, "late");
    // The clock of the database stands still. The commit succeeded after the first failure.
    const auto since_start = start - late.started_at.value();
    EXPECT_GE(since_start + std::chrono::microseconds(2), failed_at_.load() - entered.load());
    EXPECT_EQ(late.completed_at, start) << "when it was recorded";
}

}  // namespace
}  // namespace pawl::test
