// Objects that a call has found may be deleted before it ends. Then the call reports that they do
// not exist, or creates them again, and never reports a foreign key.
#include "support/race_test.h"

namespace pawl::test {
namespace {

class DeletedMeanwhileTest : public RaceTest {};
INSTANTIATE_TEST_SUITE_P(
    , DeletedMeanwhileTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(DeletedMeanwhileTest, a_dead_letter_queue_is_not_found) {
    sql().run("select create_queue('dead')");
    const auto other = begin("select delete_queue('dead')");
    auto made = waits("select create_queue('q', dead_letter_queue => 'dead')");
    other->run("commit");
    EXPECT_TRUE(contains(made.get(), "queue 'dead' does not exist"));
}

TEST_P(DeletedMeanwhileTest, a_dead_letter_workflow_is_not_found) {
    sql().run("select create_workflow('dead')");
    const auto other = begin("select delete_workflow('dead')");
    auto made = waits("select create_workflow('w', dead_letter_workflow => 'dead')");
    other->run("commit");
    EXPECT_TRUE(contains(made.get(), "workflow 'dead' does not exist"));
}

TEST_P(DeletedMeanwhileTest, the_queue_of_a_retention_is_not_found) {
    sql().run("select create_queue('q'); select create_workflow('w')");
    {
        const auto other = begin("select delete_queue('q')");
        auto set = waits("select set_retention('archive', 'q', keep_ms => 1000)");
        other->run("commit");
        EXPECT_TRUE(contains(set.get(), "queue 'q' does not exist"));
    }
    const auto other = begin("select delete_workflow('w')");
    auto set = waits("select set_retention('success', 'w', keep_ms => 1000)");
    other->run("commit");
    EXPECT_TRUE(contains(set.get(), "workflow 'w' does not exist"));
}

TEST_P(DeletedMeanwhileTest, a_queue_that_was_created_again_takes_the_retention) {
    sql().run("select create_queue('q')");
    const auto other = begin("select delete_queue('q'); select create_queue('q')");
    auto set = waits("select set_retention('archive', 'q', keep_ms => 1000)");
    other->run("commit");
    EXPECT_EQ(set.get(), "");
    EXPECT_EQ(sql().value("select name from list_retention() where kind = 'archive'"), "q");
}

// The first lock of a deletion, and then its other statements.
TEST_P(DeletedMeanwhileTest, a_deleted_flow_accepts_no_step) {
    make_flow("flow");
    const auto other = begin("select from workflows for update");
    auto added = waits("select add_step('flow', 'b')");
    other->run("select delete_workflow('flow'); commit");
    EXPECT_TRUE(contains(added.get(), "flow 'flow' does not exist"));
}

TEST_P(DeletedMeanwhileTest, a_workflow_is_created_again) {
    sql().run("select create_workflow('w', max_attempts => 7)");
    const auto other = begin("select from workflows for update");
    auto made = waits("select create_workflow('w', lease_ms => 5000)");
    other->run("select delete_workflow('w'); commit");
    EXPECT_EQ(made.get(), "");
    const Row found = sql().rows("select max_attempts, lease_ms from list_workflows()").at(0);
    EXPECT_EQ(found, (Row{"3", "5000"}));
}

TEST_P(DeletedMeanwhileTest, a_flow_is_created_again) {
    make_flow("flow", "max_attempts => 7");
    const auto other = begin("select from workflows for update");
    auto made = waits("select create_flow('flow', base_delay => 1)");
    other->run("select delete_workflow('flow'); commit");
    EXPECT_EQ(made.get(), "");
    const Row found =
        sql().rows("select max_attempts, backoff_base_ms from list_workflows()").at(0);
    EXPECT_EQ(found, (Row{"3", "1000"}));
}

TEST_P(DeletedMeanwhileTest, a_name_that_a_plain_queue_got_is_refused) {
    sql().run("select create_workflow('w')");
    const auto other = begin("select from workflows for update");
    auto made = waits("select create_workflow('w')");
    other->run("select delete_workflow('w'); select create_queue('w'); commit");
    EXPECT_TRUE(contains(made.get(), "queue 'w' exists and does not belong to a workflow"));
}

TEST_P(DeletedMeanwhileTest, a_run_is_not_in_the_way_of_its_flows_deletion) {
    make_flow("flow");
    const std::string first = start("flow");
    const std::string second = start("flow");
    const auto other = begin("select delete_run(" + first + ")");
    auto deleted = waits("select delete_flow_and_data('flow', force => true)");
    other->run("commit");
    EXPECT_EQ(deleted.get(), "");
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
    EXPECT_EQ(sql().number("select count(*) from list_workflows()"), 0);
}

TEST_P(DeletedMeanwhileTest, a_flow_cannot_be_deleted_twice) {
    make_flow("flow");
    static_cast<void>(start("flow"));
    const auto other = begin("select delete_flow_and_data('flow', force => true)");
    auto deleted = waits("select delete_flow_and_data('flow', force => true)");
    other->run("commit");
    EXPECT_TRUE(contains(deleted.get(), "flow 'flow' does not exist"));
}

// The second item of the batch has to wait after the first one was found by its key.
TEST_P(DeletedMeanwhileTest, a_run_that_had_the_key_is_started_anew) {
    make_flow("flow");
    const std::string first =
        sql().value("select run_id from start_flow('flow', idempotency_key => 'k')");
    sql().run("select cancel(" + first + ")");
    const auto other = begin("lock table steps in exclusive mode");
    auto started = waits(
        "select string_agg(concat_ws(' ', input, status), ', ') from start_flows("
        "array['flow', 'flow', 'flow'], array['1', '2', '3']::json[], "
        "idempotency_keys => array[null, 'k', null], tag_places => array[2], tags => array['t'])"
    );
    other->run("delete from runs where run_id = " + first + "; commit");
    EXPECT_EQ(started.get(), "1 QUEUED, 2 QUEUED, 3 QUEUED");
    EXPECT_EQ(sql().value("select idempotency_key from list_runs(tag => 't')"), "k");
}

// A caller that takes a short page for the last one must not miss rows.
TEST_P(DeletedMeanwhileTest, a_page_of_runs_is_full_all_the_same) {
    sql().run("select create_workflow('w')");
    sql().run("select trigger_batch(array['w', 'w', 'w'], array['1', '2', '3'])");
    for (const std::string filter : {"", ", workflow => 'w'", ", status => 'QUEUED'"}) {
        const auto other = begin("lock table messages in access exclusive mode");
        auto listed = waits("select count(*) from list_runs(max_rows => 2" + filter + ")");
        other->run("delete from runs where run_id = (select max(run_id) from runs)");
        other->run("commit");
        EXPECT_EQ(listed.get(), "2") << filter;
        static_cast<void>(trigger("w"));
    }
}

}  // namespace
}  // namespace pawl::test
