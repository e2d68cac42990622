// Every statement of a claim, a list or a count uses an index in its order: nothing is scanned or
// sorted.
#include "generated/sqlite_sql.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class PlanTest : public StoreTest {
protected:
    std::string plan(const store::Statement& statement) const {
        std::string text(statement.text);
        std::string steps;
        for (const Row& row : database()->rows("explain query plan " + text))
            steps += row.back() + "\n";
        return steps;
    }
    void expect_index(const store::Statement& statement, const std::string& index) const {
        const std::string steps = plan(statement);
        EXPECT_TRUE(contains(steps, index)) << statement.name;
        EXPECT_EQ(steps.find("SCAN pawl_messages\n"), std::string::npos) << statement.name << "\n"
                                                                         << steps;
        EXPECT_EQ(steps.find("TEMP B-TREE"), std::string::npos) << statement.name << "\n" << steps;
    }
    void fill() const {
        make_queue();
        std::vector<NewMessage> batch(2000, NewMessage{Json{"1"}, {}});
        for (std::size_t i = 0; i < batch.size(); i += 2) batch[i].options.delay = 1h;
        store().queue("work").enqueue(batch);
    }
    void expect_all() const {
        expect_index(sqlite::sql::next_ready_queue, "pawl_messages_ready");
        expect_index(sqlite::sql::next_timed_queue, "pawl_messages_due");
        expect_index(sqlite::sql::top_priority, "pawl_messages_ready");
        expect_index(sqlite::sql::next_due, "pawl_messages_due");
        expect_index(sqlite::sql::due_messages, "pawl_messages_due");
        expect_index(sqlite::sql::ready_messages, "pawl_messages_ready");
        expect_index(sqlite::sql::read_ready, "pawl_messages_ready");
        expect_index(sqlite::sql::claim_ready, "pawl_messages_ready");
        expect_index(sqlite::sql::read_level, "pawl_messages_ready");
        expect_index(sqlite::sql::claim_level, "pawl_messages_ready");
        expect_index(sqlite::sql::record_result, "INTEGER PRIMARY KEY");
        expect_index(sqlite::sql::claim_message, "INTEGER PRIMARY KEY");
        expect_index(sqlite::sql::due_outbox, "pawl_outbox_due");
        expect_index(sqlite::sql::next_outbox, "pawl_outbox_due");
        expect_index(sqlite::sql::outbox_line, "pawl_outbox_pending");
        expect_index(sqlite::sql::list_outbox, "INTEGER PRIMARY KEY");
        expect_index(
            sqlite::sql::list_outbox_by_status, "pawl_outbox_status (status=? AND outbox_id>?)"
        );
        expect_index(
            sqlite::sql::list_outbox_by_type,
            "pawl_outbox_type (status=? AND type=? AND outbox_id>?)"
        );
        expect_index(
            sqlite::sql::list_outbox_by_aggregate,
            "pawl_outbox_aggregate (status=? AND aggregate=? AND outbox_id>?)"
        );
    }
    // Only rows that the index finds are read, independent of the size of the table.
    void expect_search(const store::Statement& statement, const std::string& index) const {
        const std::string steps = plan(statement);
        EXPECT_TRUE(contains(steps, index)) << statement.name << "\n" << steps;
        EXPECT_EQ(steps.find("SCAN pawl_"), std::string::npos) << statement.name << "\n" << steps;
    }
    void expect_page(const store::Statement& statement, const std::string& index) const {
        expect_search(statement, index);
        EXPECT_EQ(plan(statement).find("TEMP B-TREE"), std::string::npos) << statement.name << "\n"
                                                                          << plan(statement);
    }
    void expect_reports() const {
        using namespace sqlite;
        expect_page(sql::list_runs, "INTEGER PRIMARY KEY");
        expect_page(
            sql::list_group, "pawl_runs_group (run_group=? AND workflow_id=? AND created_at"
        );
        expect_search(sql::live_runs_page, "pawl_runs_group (run_group=? AND (workflow_id");
        expect_search(sql::count_live_runs, "pawl_runs_group (run_group=? AND workflow_id=?");
        expect_page(
            sql::list_deleted_keyed_runs,
            "pawl_runs_deleted_key (workflow_id=? AND idempotency_key=? AND created_at"
        );
        expect_search(sql::list_keyed_runs, "pawl_runs_key (workflow_id=? AND idempotency_key=?");
        expect_search(sql::list_tagged_runs, "INTEGER PRIMARY KEY");
        expect_search(sql::has_tag, "PRIMARY KEY (tag=? AND run_id=?");
        expect_search(sql::match_run, "INTEGER PRIMARY KEY");
        expect_search(sql::ended_run_ids, "pawl_runs_group (run_group=? AND workflow_id=?");
        expect_search(sql::delete_workflow_steps, "pawl_steps");
        expect_search(sql::delete_workflow_runs, "INTEGER PRIMARY KEY");
        expect_search(sql::success_cut, "pawl_runs_success_ended (workflow_id=? AND completed_at");
        expect_search(sql::failed_cut, "pawl_runs_failed_ended (workflow_id=? AND completed_at");
        expect_page(sql::next_priority, "pawl_messages_ready (queue_id=? AND priority");
        expect_page(sql::page_ready, "pawl_messages_ready (queue_id=? AND priority=?");
        expect_search(sql::page_timed, "pawl_messages_due (queue_id=? AND visible_at");
        expect_search(sql::list_held, "pawl_messages_due (queue_id=? AND visible_at");
        expect_search(sql::list_held, "SEARCH m USING INTEGER PRIMARY KEY");
        expect_page(sql::list_running_flow, "pawl_runs_flow_started (workflow_id=? AND created_at");
        expect_search(sql::count_ready, "pawl_messages_ready (queue_id=?");
        expect_search(sql::count_timed, "pawl_messages_due (queue_id=? AND visible_at");
        expect_search(sql::count_done, "pawl_archive_aged (queue_id=?");
        expect_search(sql::count_dead, "pawl_archive_dead (queue_id=?");
        expect_page(sql::list_dead, "pawl_archive_dead (queue_id=? AND message_id");
        expect_page(sql::list_archive, "pawl_archive_queue (queue_id=? AND message_id");
        EXPECT_TRUE(contains(plan(sql::live_handlers), "SCAN w USING INDEX pawl_workers_live"));
        EXPECT_TRUE(contains(plan(sql::count_workers), "USING INDEX pawl_workers_live"));
        EXPECT_TRUE(contains(plan(sql::started_runs), "pawl_messages_returned (queue_id=?"));
    }
};
INSTANTIATE_TEST_SUITE_P(, PlanTest, ::testing::Values(BackendKind::sqlite), backend_name);

TEST_P(PlanTest, claims_use_the_partial_indexes) {
    expect_all();
}

TEST_P(PlanTest, lists_and_counts_read_what_an_index_finds) {
    expect_reports();
}

TEST_P(PlanTest, statistics_do_not_change_that) {
    fill();
    database()->run("analyze");
    expect_all();
    expect_reports();
}

TEST_P(PlanTest, statistics_of_empty_tables_do_not_change_that) {
    database()->run("analyze");
    fill();
    expect_all();
    expect_reports();
}

}  // namespace
}  // namespace pawl::test
