// Every statement of a claim goes through a partial index, in its order: nothing is scanned or
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
        expect_index(sqlite::sql::claim_ready, "pawl_messages_ready");
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
};
INSTANTIATE_TEST_SUITE_P(, PlanTest, ::testing::Values(BackendKind::sqlite), backend_name);

TEST_P(PlanTest, claims_use_the_partial_indexes) {
    expect_all();
}

TEST_P(PlanTest, statistics_do_not_change_that) {
    fill();
    database()->run("analyze");
    expect_all();
}

TEST_P(PlanTest, statistics_of_empty_tables_do_not_change_that) {
    database()->run("analyze");
    fill();
    expect_all();
}

}  // namespace
}  // namespace pawl::test
