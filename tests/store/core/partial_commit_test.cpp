// A batch that is committed in parts, because the database refuses an item, and is then
// interrupted.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class PartialCommitTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(PartialCommitTest);

TEST_P(PartialCommitTest, a_batch_that_breaks_off_behind_a_committed_part_is_in_doubt) {
    make_workflow();
    const auto runs = trigger_many(3);
    const auto held = claim_many(3);
    const std::vector<Write> writes{
        retry_step(held[0].lease(), "a", 1, 1, 1h),
        checkpoint(held[1].lease(), "a", 1),
        checkpoint(held[2].lease(), "a", 1)};
    const Store impatient = connect(kit().impatient_url(), options());
    (void)impatient.queues();
    kit().refuse_steps_of(runs[1]);
    auto obstacle = kit().obstruct_steps_of(runs[2]);
    const Error error =
        error_of([&] { (void)detail::Access::backend(impatient)->commit(writes, Attempt::first); });
    EXPECT_TRUE(error.retryable()) << error.what();
    EXPECT_TRUE(error.in_doubt()) << "the first is committed";
    EXPECT_EQ(count(Rows::steps), 1);
    obstacle.reset();
    EXPECT_EQ(
        commit_all(writes, Attempt::repeated),
        (std::vector{WriteStatus::done, WriteStatus::rejected, WriteStatus::done})
    );
}

}  // namespace
}  // namespace pawl::test
