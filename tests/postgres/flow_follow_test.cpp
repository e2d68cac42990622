// In plain SQL: polls for some steps of a flow, and the events of a run by NOTIFY.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <libpq-fe.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class FlowFollowTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        sql_ = another();
        sql_->run(
            "select create_flow('flow', max_attempts => 2, base_delay => 0); "
            "select add_step('flow', 'a'); select add_step('flow', 'b', array['a']); "
            "select add_step('flow', 'c', array['a'])"
        );
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::unique_ptr<Database> another() const {
        auto other = database();
        other->run("set search_path = " + place().schema());
        return other;
    }
    [[nodiscard]] std::string start_run() const {
        return sql_->value("select run_id from start_flow('flow', '1')");
    }
    [[nodiscard]] std::size_t complete(const std::string& step) const {
        return sql_
            ->rows(fmt::format(
                "select complete_task(run_id, step_slug, task_index, '1', delivery) from "
                "poll_for_step_tasks('flow', array['{}'], 30, 100, 7)",
                step
            ))
            .size();
    }
    // "task_started a, run_succeeded": the notifications since the last call.
    [[nodiscard]] static std::string heard(Database& listener, const std::string& run) {
        listener.run("select 1");
        std::string text;
        PGconn* const connection = listener.transaction().postgres();
        while (PGnotify* const notify = PQnotifies(connection)) {
            const auto event = nlohmann::json::parse(notify->extra);
            PQfreemem(notify);
            EXPECT_EQ(event.at("run_id").dump(), run);
            if (!text.empty()) text += ", ";
            text += event.at("kind").get<std::string>();
            if (event.at("data").contains("step"))
                text += " " + event.at("data").at("step").get<std::string>();
        }
        return text;
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, FlowFollowTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(FlowFollowTest, a_followed_run_sends_events_of_its_tasks_and_its_end) {
    const std::string run = start_run();
    const std::string other = start_run();
    auto listener = another();
    listener->run("listen \"pawl_" + place().schema() + "_events\"");
    sql().run("select follow_run(" + run + ")");
    EXPECT_EQ(complete("a"), 2U);
    EXPECT_EQ(heard(*listener, run), "task_started a, task_succeeded a");
    sql().run(
        "select fail_task(run_id, step_slug, task_index, 'no luck', delivery) from "
        "poll_for_step_tasks('flow', array['b'], 30, 100)"
    );
    EXPECT_EQ(heard(*listener, run), "task_started b, task_retry b");
    EXPECT_EQ(complete("b"), 2U);
    EXPECT_EQ(complete("c"), 2U);
    EXPECT_EQ(
        heard(*listener, run),
        "task_started b, task_succeeded b, task_started c, task_succeeded c, run_succeeded"
    );
    EXPECT_EQ(
        sql().value("select string_agg(distinct kind, ',') from list_events(" + other + ")"),
        "task_retry"
    ) << "a run that is not followed keeps the events of its audit level";
}

TEST_P(FlowFollowTest, a_follower_hears_of_failures_and_stops_hearing_when_it_wants) {
    const std::string run = start_run();
    auto listener = another();
    listener->run("listen \"pawl_" + place().schema() + "_events\"");
    sql().run("select follow_run(" + run + ", 60)");
    sql().run("select unfollow_run(" + run + ")");
    EXPECT_EQ(complete("a"), 1U);
    EXPECT_EQ(heard(*listener, run), "");
    sql().run("select follow_run(" + run + ", 60)");
    sql().run("select cancel(" + run + ", 'enough')");
    EXPECT_EQ(heard(*listener, run), "cancelled");
    EXPECT_EQ(sql().value("select count(*) from followed_runs"), "1");
}

TEST_P(FlowFollowTest, only_runs_that_exist_are_followed_and_for_a_day_at_most) {
    EXPECT_ANY_THROW(sql().run("select follow_run(424242)"));
    const std::string run = start_run();
    EXPECT_ANY_THROW(sql().run("select follow_run(" + run + ", 0)"));
    EXPECT_ANY_THROW(sql().run("select follow_run(" + run + ", 86401)"));
    EXPECT_EQ(sql().value("select count(*) from followed_runs"), "0");
}

TEST_P(FlowFollowTest, a_poll_of_some_steps_leaves_the_others_alone) {
    const std::string run = start_run();
    EXPECT_EQ(complete("b"), 0U);
    EXPECT_EQ(complete("a"), 1U);
    EXPECT_EQ(
        sql().rows("select step_slug, attempts, delivery from "
                   "poll_for_step_tasks('flow', array['c', 'c'], 30, 5, 9)"),
        (std::vector<Row>{{"c", "1", "1"}})
    );
    EXPECT_EQ(
        sql().rows("select step_slug, worker_id from list_tasks(" + run + ") order by 1"),
        (std::vector<Row>{{"a", "7"}, {"b", ""}, {"c", "9"}})
    );
    EXPECT_EQ(sql().value("select worker_id is null from messages where lane = 2"), "t")
        << "a poller does not extend its lease";
    EXPECT_ANY_THROW(sql().run("select poll_for_step_tasks('flow', array['x'], 30, 5)"));
    EXPECT_ANY_THROW(sql().run("select poll_for_step_tasks('flow', '{}', 30, 5)"));
}

// It may have begun after the claim and still not see its uncommitted changes.
TEST_P(FlowFollowTest, lanes_open_only_after_transactions_that_began_during_the_first_claim) {
    auto first = another();
    first->run("begin");
    first->run("select poll_for_step_tasks('flow', array['a'], 30, 5)");
    auto open = another();
    open->run("begin");
    open->run("select start_flow('flow', '1')");
    first->run("commit");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(complete("a"), 0U);
    EXPECT_EQ(sql().value("select lanes from workflows"), "opening");
    open->run("commit");
    EXPECT_TRUE(eventually([&] { return complete("a") == 1; }));
}

// Tasks of transactions that did not see the first claim of steps get their lane after these have
// ended.
TEST_P(FlowFollowTest, tasks_of_older_transactions_come_into_their_lanes) {
    auto open = another();
    open->run("begin");
    open->run("select start_flow('flow', '1')");
    EXPECT_EQ(complete("a"), 0U);
    EXPECT_EQ(complete("a"), 0U);
    EXPECT_EQ(complete("a"), 0U);
    EXPECT_EQ(sql().value("select lanes from workflows"), "opening");
    open->run("commit");
    // Any transaction of the server counts, including those of other tests.
    EXPECT_TRUE(eventually([&] { return complete("a") == 1; }));
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(complete("a"), 0U);
        return sql().value("select lanes from workflows") == "open";
    }));
    open->run("begin isolation level repeatable read");
    open->run("select start_flow('flow', '1')");
    open->run("commit");
    EXPECT_EQ(complete("a"), 1U);
}

// Independent of the number of tasks of other steps before them.
TEST_P(FlowFollowTest, a_claim_of_steps_reads_a_bounded_number_of_rows) {
    sql().run("select start_flow('flow', '1') from generate_series(1, 500)");
    EXPECT_EQ(complete("b"), 0U);
    EXPECT_EQ(complete("b"), 0U);
    sql().run(
        "select complete_task(run_id, step_slug, task_index, '1', delivery) from "
        "poll_for_step_tasks('flow', array['a'], 30, 1)"
    );
    const auto buffers = [&] {
        const auto plan = nlohmann::json::parse(sql().value(
            "explain (analyze, buffers, format json) select * from claim_lanes((select workflow_id "
            "from workflows), array[1], 1, 1000, null, 1000)"
        ));
        const auto& top = plan.at(0).at("Plan");
        return top.at("Shared Hit Blocks").get<int>() + top.at("Shared Read Blocks").get<int>();
    };
    (void)buffers();
    sql().run(
        "select complete_task(run_id, step_slug, task_index, '1', delivery) from "
        "poll_for_step_tasks('flow', array['a'], 30, 1)"
    );
    EXPECT_LT(buffers(), 150);
}

}  // namespace
}  // namespace pawl::test
