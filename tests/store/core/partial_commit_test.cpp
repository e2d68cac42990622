// A batch that is committed in parts, because the database refuses an item, and then breaks off.
#include "base/crash_point.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

// What happens between two calls of a store to its database.
std::function<void()>& between_calls() {
    static std::function<void()> function;
    return function;
}

class PartialCommitTest : public WorkflowTest {
protected:
    void TearDown() override {
        base::crash_hook = nullptr;
        between_calls() = {};
        WorkflowTest::TearDown();
    }
    // Of three runs the second is refused for good, and the third for now: by a trigger on
    // PostgreSQL, by a lock that is there when the first is committed on SQLite.
    void break_off_at_the_third(const std::vector<RunId>& runs) {
        forbid_steps_of(runs[1]);
        lock_ = database();
        if (on_postgres()) {
            const std::string function = place().schema() + ".later";
            lock_->run(
                "create function " + function +
                "() returns trigger language plpgsql as $$ begin raise exception 'no room' using "
                "errcode = '53100'; end $$"
            );
            lock_->run(
                "create trigger later before insert on " + place().table("steps") +
                " for each row when (new.run_id = " + std::to_string(runs[2].value()) +
                ") execute function " + function + "()"
            );
            return;
        }
        between_calls() = [this] {
            if (locked_ || lock_->number("select count(*) from pawl_steps") == 0) return;
            locked_ = true;
            lock_->begin();
        };
        base::crash_hook = [] { between_calls()(); };
    }
    void let_go_on() {
        base::crash_hook = nullptr;
        lock_->run(on_postgres() ? "drop trigger later on " + place().table("steps") : "rollback");
    }

private:
    std::unique_ptr<Database> lock_;
    bool locked_ = false;
};
PAWL_FOR_EACH_BACKEND(PartialCommitTest);

TEST_P(PartialCommitTest, a_batch_that_breaks_off_behind_a_committed_part_is_in_doubt) {
    make_workflow();
    const auto runs = trigger_many(3);
    const auto held = claim_many(3);
    const std::vector<Write> writes{
        retry_step(held[0].lease(), "a", 1, 1, 1h),
        checkpoint(held[1].lease(), "a", 1),
        checkpoint(held[2].lease(), "a", 1)};
    const Store impatient = connect(
        on_postgres() ? place().url() : with_parameter(place().url(), "busy_timeout=1"), options()
    );
    (void)impatient.queues();
    break_off_at_the_third(runs);
    const Error error =
        error_of([&] { (void)impatient.backend()->commit(writes, Attempt::first); });
    EXPECT_TRUE(error.retryable()) << error.what();
    EXPECT_TRUE(error.in_doubt()) << "the first is committed";
    EXPECT_EQ(count("steps"), 1);
    let_go_on();
    EXPECT_EQ(
        commit_all(writes, Attempt::repeated),
        (std::vector{WriteStatus::done, WriteStatus::rejected, WriteStatus::done})
    );
}

}  // namespace
}  // namespace pawl::test
