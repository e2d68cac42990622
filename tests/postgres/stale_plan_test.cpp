// A migration under a live store, and session settings of users that must not matter.
#include "support/store_test.h"

namespace pawl::test {
namespace {

class StalePlanTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(, StalePlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(StalePlanTest, a_table_changed_under_prepared_statements_is_not_noticed) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3);
    const auto exercise = [&] {
        queue.archive(take_one(queue));
        (void)queue.list(MessageState::ready);
        (void)queue.archived();
        (void)store().queues();
        (void)store().workers();
    };
    for (int i = 0; i < 2; ++i) exercise();
    const auto migration = database();
    for (const auto* table : {"messages", "archive", "queues", "workers"})
        migration->run(
            "alter table " + place().table(table) + " add column extra integer default 7"
        );
    exercise();
    EXPECT_EQ(queue.stats().archived, 3);
}

TEST_P(StalePlanTest, a_function_that_returns_another_row_type_is_prepared_again) {
    const Queue queue = make_queue();
    for (int i = 0; i < 6; ++i) (void)store().queues();
    // A view on the column would prevent it.
    for (const auto* view : {"run_rows", "flow_runs", "step_states", "task_states"})
        database()->run("drop view " + place().table(view) + " cascade");
    database()->run(
        "alter table " + place().table("queues") + " alter column name type varchar(200)"
    );
    EXPECT_EQ(store().queues().size(), 1U);
}

TEST_P(StalePlanTest, nothing_relies_on_the_search_path_or_the_time_zone) {
    const std::string options_parameter =
        "options=-csearch_path%3Dpg_catalog%20-ctimezone%3DAsia/Tokyo%20-cdatestyle%3DGerman";
    const Store odd = connect(with_parameter(place().url(), options_parameter), options());
    freeze();
    const Queue queue = make_queue();
    const MessageId id = odd.queue("work").enqueue(Json{"1"}, {.delay = 1s});
    EXPECT_EQ(odd.now(), start);
    EXPECT_EQ(queue.find(id)->visible_at, start + 1s);
    advance(1s);
    EXPECT_EQ(odd.queue("work").archive(take_one(odd.queue("work"))), Outcome::done);
}

TEST_P(StalePlanTest, sessions_in_serializable_mode_work_too) {
    const Store strict = connect(
        with_parameter(place().url(), "options=-cdefault_transaction_isolation%3Dserializable"),
        options()
    );
    make_queue();
    const Queue queue = strict.queue("work");
    enqueue_many(queue, 2);
    EXPECT_EQ(queue.archive(take_one(queue)), Outcome::done);
}

}  // namespace
}  // namespace pawl::test
