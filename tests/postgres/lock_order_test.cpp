// All sessions take locks in one order; a worker's batch never waits for a lock, and keeps no lock
// that it does not need.
#include "support/race_test.h"

namespace pawl::test {
namespace {

class LockOrderTest : public RaceTest {
protected:
    // A leased task with one attempt.
    struct Held {
        std::string message;
        std::string run;
        std::string step;
        std::string task;
    };
    [[nodiscard]] std::vector<Held> poll(const std::string& flow, int qty) const {
        std::vector<Held> held;
        for (const Row& row : sql().rows(fmt::format(
                 "select msg_id, run_id, step_slug, task_index from poll_for_tasks('{}', 30, {})",
                 flow,
                 qty
             )))
            held.push_back({row[0], row[1], row[2], row[3]});
        return held;
    }
    [[nodiscard]] static std::string outcome(
        Database& who, const Held& task, const std::string& what
    ) {
        return who.value(fmt::format(
            "select outcomes[1] from {}_tasks(array[{}], array[1], array[{}], array['{}'], "
            "array[{}], array['1'])",
            what,
            task.message,
            task.run,
            task.step,
            task.task
        ));
    }
    [[nodiscard]] std::string fail(const Held& task) const { return outcome(sql(), task, "fail"); }
    // The task is delegated to a run of that workflow, which is returned.
    [[nodiscard]] std::string delegate(
        const Held& task, const std::string& workflow, const std::string& key = "k"
    ) const {
        sql().run(fmt::format(
            "select delegate_tasks(array[{}], array[1], array[{}], array['{}'], array[{}], "
            "array['{}'], array['1'], idempotency_keys => array['{}'])",
            task.message,
            task.run,
            task.step,
            task.task,
            workflow,
            key
        ));
        return sql().value(fmt::format(
            "select run_id from calls where caller_run_id = {} and caller_step = '{}' and "
            "caller_task = {}",
            task.run,
            task.step,
            task.task
        ));
    }
    // A flow 'above' with two leased tasks.
    [[nodiscard]] std::vector<Held> two_tasks() const {
        make_flow("above");
        sql().run("select add_step('above', 'b')");
        static_cast<void>(start("above"));
        return poll("above", 2);
    }
    [[nodiscard]] std::unique_ptr<Database> hold(const std::string& message) const {
        return begin("select from messages where message_id = " + message + " for update");
    }
};
INSTANTIATE_TEST_SUITE_P(, LockOrderTest, ::testing::Values(BackendKind::postgres), backend_name);

// --- runs without a handler ---

TEST_P(LockOrderTest, a_handler_that_came_while_others_were_failed_counts) {
    sql().run("select create_workflow('u.a'); select create_workflow('u.b')");
    const std::string a = trigger("u.a");
    const std::string b = trigger("u.b");
    const auto other = begin("select from runs where run_id = " + a + " for update");
    auto failed = waits("select fail_unhandled(array['u.'])");
    other->run("select register_worker('w', 'h', 0, 1, 30000, array['u.b'], array['u.b']); commit");
    EXPECT_EQ(failed.get(), "{" + a + "}");
    EXPECT_EQ(status(a), "ERROR");
    EXPECT_EQ(status(b), "QUEUED");
}

TEST_P(LockOrderTest, a_handler_of_a_flow_that_came_while_others_were_failed_counts) {
    sql().run("select create_workflow('u.a')");
    make_flow("u_b");
    const std::string a = trigger("u.a");
    const std::string b = start("u_b");
    const auto other = begin("select from runs where run_id = " + a + " for update");
    auto failed = waits("select fail_unhandled(array['u'])");
    other->run("select register_worker('w', 'h', 0, 1, 30000, array['u_b'], array['u_b']); commit");
    EXPECT_EQ(failed.get(), "{" + a + "}");
    EXPECT_EQ(status(b), "QUEUED");
}

// --- claims ---

TEST_P(LockOrderTest, a_claim_that_finds_all_rows_locked_is_repeated_soon) {
    sql().run("select create_queue('z1'); select create_queue('z2')");
    const std::string claim =
        " from claim(array[queue_id('z1'), queue_id('z2')], 1) c where message_id is ";
    const std::string empty =
        "select extract(epoch from next_due - now_at)::float8 * 1000, more" + claim + "null";
    EXPECT_EQ(sql().rows(empty).at(0), (Row{"", "f"})) << "nothing to look for";
    sql().run("select enqueue('z1', '1'); select enqueue('z2', '2')");
    const auto other = begin("select message_id" + claim + "not null");
    EXPECT_EQ(sql().rows(empty).at(0), (Row{"10", "f"}));
    advance(100ms);
    EXPECT_EQ(sql().rows(empty).at(0), (Row{"50", "f"}));
    advance(10s);
    EXPECT_EQ(sql().rows(empty).at(0), (Row{"500", "f"})) << "it takes its time: so do we";
    other->run("commit");
    EXPECT_EQ(sql().rows("select payload" + claim + "not null").at(0), Row{"2"});
}

// Polls that would continue for ten minutes: the session would give up.
TEST_P(LockOrderTest, a_poll_ends_once_it_has_failed_a_run) {
    make_flow("flow");
    const std::string poll = "select count(*) from poll_for_tasks('flow', 30, 1, ";
    const std::string run = start("flow");
    EXPECT_EQ(sql().number(poll + "0)"), 1);
    advance(2min);
    EXPECT_EQ(sql().number(poll + "600)"), 0);
    EXPECT_EQ(status(run), "ERROR");

    const std::string another = start("flow");
    EXPECT_EQ(sql().number(poll + "0)"), 1);
    advance(2min);
    EXPECT_EQ(sql().number("select count(*) from read_with_poll('flow', 30, 1, 600)"), 0);
    EXPECT_EQ(status(another), "ERROR");
}

TEST_P(LockOrderTest, a_read_ends_once_it_has_buried_a_message) {
    sql().run("select create_queue('q', max_strikes => 1); select enqueue('q', '1')");
    const std::string read = "select count(*) from read_with_poll('q', 30, 1, 600)";
    EXPECT_EQ(sql().number(read), 1);
    advance(2min);
    EXPECT_EQ(sql().number(read), 0);
    EXPECT_EQ(sql().number("select count(*) from archive where dead"), 1);
}

// --- runs that end together ---

TEST_P(LockOrderTest, a_flow_is_not_failed_while_a_run_that_it_waits_for_is_locked) {
    sql().run("select create_workflow('child')");
    const auto tasks = two_tasks();
    const std::string child = delegate(tasks.at(0), "child");
    {
        const auto other = hold(child);
        EXPECT_EQ(fail(tasks.at(1)), "busy");
        EXPECT_EQ(status(tasks.at(1).run), "RUNNING");
        EXPECT_EQ(status(child), "QUEUED");
        other->run("rollback");
    }
    EXPECT_EQ(fail(tasks.at(1)), "done");
    EXPECT_EQ(status(tasks.at(1).run), "ERROR");
    EXPECT_EQ(status(child), "CANCELLED");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(LockOrderTest, a_flow_is_not_failed_while_a_part_of_a_flow_below_is_locked) {
    make_flow("middle");
    make_flow("below");
    const auto tasks = two_tasks();
    static_cast<void>(delegate(tasks.at(0), "middle"));
    const std::string below = delegate(poll("middle", 1).at(0), "below");
    const std::string task = sql().value("select msg_id from list_tasks(" + below + ")");
    {
        const auto other = begin("select from runs where run_id = " + below + " for update");
        EXPECT_EQ(fail(tasks.at(1)), "busy");
        other->run("rollback");
    }
    {
        const auto other = hold(task);
        EXPECT_EQ(fail(tasks.at(1)), "busy");
        other->run("rollback");
    }
    EXPECT_EQ(fail(tasks.at(1)), "done");
    EXPECT_EQ(status(below), "CANCELLED");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(LockOrderTest, a_step_is_not_skipped_while_a_run_that_it_waits_for_is_locked) {
    sql().run("select create_workflow('child'); select create_flow('maps', max_attempts => 1)");
    sql().run("select add_step('maps', 'm', step_type => 'map', when_exhausted => 'skip')");
    const std::string run = sql().value("select run_id from start_flow('maps', '[1, 2]')");
    const auto tasks = poll("maps", 2);
    const std::string child = delegate(tasks.at(0), "child");
    {
        const auto other = hold(child);
        EXPECT_EQ(fail(tasks.at(1)), "busy");
        other->run("rollback");
    }
    EXPECT_EQ(fail(tasks.at(1)), "done");
    EXPECT_EQ(status(run), "SUCCESS");
    EXPECT_EQ(status(child), "CANCELLED");
}

// The flow above fails with it, and so do the runs for which it waits.
TEST_P(LockOrderTest, a_flow_is_not_failed_while_what_ends_with_its_caller_is_locked) {
    sql().run("select create_workflow('child')");
    make_flow("below");
    const auto tasks = two_tasks();
    const std::string below = delegate(tasks.at(0), "below");
    const std::string child = delegate(tasks.at(1), "child");
    const Held task = poll("below", 1).at(0);
    {
        const auto other = hold(child);
        EXPECT_EQ(fail(task), "busy");
        EXPECT_EQ(status(below), "RUNNING");
        other->run("rollback");
    }
    EXPECT_EQ(fail(task), "done");
    EXPECT_EQ(status(below), "ERROR");
    EXPECT_EQ(status(tasks.at(0).run), "ERROR");
    EXPECT_EQ(status(child), "CANCELLED");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

// A worker's writes for all its runs do not make another worker wait.
TEST_P(LockOrderTest, flows_that_wait_for_each_others_runs_are_failed_in_two_batches) {
    sql().run("select create_workflow('child')");
    make_flow("above");
    sql().run("select add_step('above', 'b')");
    std::vector<std::string> children;
    std::vector<Held> others;
    for (int i = 0; i < 2; ++i) {
        static_cast<void>(start("above"));
        const auto tasks = poll("above", 2);
        children.push_back(delegate(tasks.at(0), "child", std::to_string(i)));
        others.push_back(tasks.at(1));
    }
    sql().run("select claim_runs(workflow_ids(array['child']), 2)");
    const auto record = [](const std::string& run) {
        return "select record_steps(array[" + run +
               "], array[1], array['s'], array[1], array['SUCCESS'], array[1])";
    };
    const auto first = begin(record(children[1]));
    const auto second = begin(record(children[0]));
    EXPECT_EQ(outcome(*first, others[0], "fail"), "busy");
    EXPECT_EQ(outcome(*second, others[1], "fail"), "busy");
    first->run("commit");
    EXPECT_EQ(outcome(*second, others[1], "fail"), "done");
    second->run("commit");
    EXPECT_EQ(fail(others[0]), "done");
    EXPECT_EQ(status(children[0]), "CANCELLED");
    EXPECT_EQ(status(children[1]), "CANCELLED");
}

// By the key of its own run; following its calls would never end.
TEST_P(LockOrderTest, a_run_that_waits_for_itself_can_be_failed_and_cancelled) {
    make_flow("flow");
    sql().run("select add_step('flow', 'b')");
    for (const std::string end : {"ERROR", "CANCELLED"}) {
        const std::string run =
            sql().value("select run_id from start_flow('flow', idempotency_key => '" + end + "')");
        const auto tasks = poll("flow", 2);
        EXPECT_EQ(delegate(tasks.at(0), "flow", end), run);
        if (end == "ERROR")
            EXPECT_EQ(fail(tasks.at(1)), "done");
        else
            sql().run("select cancel(" + run + ")");
        EXPECT_EQ(status(run), end);
    }
    EXPECT_EQ(sql().number("select count(*) from calls"), 0);
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

// --- deletion of workflows ---

TEST_P(LockOrderTest, a_flow_is_deleted_while_a_batch_hands_it_a_dead_letter) {
    make_flow("flow");
    make_flow("failing");
    sql().run("select create_workflow('failing', dead_letter_workflow => 'flow')");
    static_cast<void>(start("flow"));
    static_cast<void>(start("failing"));
    const Held done = poll("flow", 1).at(0);
    const Held failed = poll("failing", 1).at(0);
    const auto worker = begin();
    EXPECT_EQ(outcome(*worker, done, "complete"), "done");
    auto deleted = waits("select delete_flow_and_data('flow', force => true)");
    EXPECT_EQ(outcome(*worker, failed, "fail"), "done");
    worker->run("commit");
    EXPECT_EQ(deleted.get(), "");
    EXPECT_EQ(status(failed.run), "ERROR");
    EXPECT_EQ(sql().value("select string_agg(workflow, ',') from list_workflows()"), "failing");
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(LockOrderTest, a_run_is_copied_or_its_flow_deleted) {
    for (const std::string copy : {"retry({})", "fork({}, 'a')"}) {
        make_flow("flow");
        const std::string run = start("flow");
        sql().run("select cancel(" + run + ")");
        const auto other = begin("select lock_queue(queue_id('flow'))");
        auto copied = waits("select " + fmt::format(fmt::runtime(copy), run));
        other->run("select delete_workflow('flow'); commit");
        EXPECT_TRUE(contains(copied.get(), "run " + run + " does not exist"));
        EXPECT_EQ(sql().number("select count(*) from runs"), 0);
        EXPECT_EQ(sql().number("select count(*) from messages"), 0);
    }
}

// The deletion has locked the run, and needs the flow's queue next.
TEST_P(LockOrderTest, a_live_run_is_copied_or_its_flow_deleted_by_force) {
    for (const std::string copy : {"retry({})", "fork({}, 'a')"}) {
        make_flow("flow");
        const std::string run = start("flow");
        const auto holder = begin("select from runs where run_id = " + run + " for update");
        auto deleted = waits("select delete_flow_and_data('flow', force => true)");
        const auto other = session();
        auto copied = waits(*other, "select " + fmt::format(fmt::runtime(copy), run));
        holder->run("commit");
        EXPECT_EQ(deleted.get(), "");
        EXPECT_TRUE(contains(copied.get(), "run " + run + " does not exist"));
        EXPECT_EQ(sql().number("select count(*) from runs"), 0);
        EXPECT_EQ(sql().number("select count(*) from messages"), 0);
    }
}

TEST_P(LockOrderTest, a_run_is_copied_once_its_flow_has_a_new_step) {
    make_flow("flow");
    const std::string run = start("flow");
    sql().run("select cancel(" + run + ")");
    const auto other = begin("select add_step('flow', 'b')");
    auto copied = waits("select retry(" + run + ")");
    {
        const auto third = begin("select from runs where run_id = " + run + " for update nowait");
        third->run("rollback");
    }
    other->run("commit");
    EXPECT_EQ(status(copied.get()), "QUEUED");
}

}  // namespace
}  // namespace pawl::test
