// A store that was restored from an older backup: leases from before do not count.
#include <atomic>
#include <latch>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RestoredTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(RestoredTest);

TEST_P(RestoredTest, holders_from_before_are_fenced_and_ids_are_new) {
    const Queue queue = make_queue();
    const MessageId first = queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    EXPECT_EQ(store().restored(), 1);
    EXPECT_EQ(queue.archive(held), Outcome::lease_lost);
    EXPECT_GT(queue.enqueue(Json{"2"}).value(), first.value() + 100'000'000);
    EXPECT_EQ(queue.find(first)->delivery, held.delivery + 1'000'000);
}

TEST_P(RestoredTest, a_run_from_before_is_taken_up_again) {
    freeze();
    make_workflow();
    const Held before = trigger_and_claim();
    store().restored();
    for (const Attempt attempt : {Attempt::first, Attempt::repeated})
        EXPECT_EQ(commit(success(before.lease()), attempt), WriteStatus::lease_lost);
    advance(1h);
    const Held after = claim_one();
    EXPECT_EQ(after.id(), before.id());
    EXPECT_EQ(commit(success(after.lease())), WriteStatus::done);
}

TEST_P(RestoredTest, ids_of_tables_without_rows_move_too) {
    store().restored();
    make_queue();
    EXPECT_GT(store().queue("work").enqueue(Json{"1"}).value(), 100'000'000);
}

TEST_P(RestoredTest, a_worker_that_finds_an_older_store_drops_its_leases_and_registers_again) {
    make_workflow();
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = worker("w")
                    .heartbeat(20ms)
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            begun.count_down();
                            told = eventually([&] { return ctx.stop_token().stop_requested(); });
                        }
                    )
                    .create(store());
    const WorkerId before = made.id();
    const std::string row = " where worker_id = " + std::to_string(before.value());
    const std::string workers = place().table("workers");
    const RunId held = trigger();
    made.start();
    begun.wait();
    const auto base = database();
    EXPECT_TRUE(eventually([&] { return base->number("select beats from " + workers + row) > 2; }));
    base->run("update " + workers + " set beats = 1" + row);
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    EXPECT_TRUE(eventually([&] { return told.load(); })) << "its lease was dropped";
    EXPECT_TRUE(contains(log_text(), "store restored"));
    EXPECT_EQ(status(held), RunStatus::running) << "nothing was reported";
}

TEST_P(RestoredTest, a_worker_that_could_not_register_again_tries_until_it_has) {
    make_workflow();
    auto made = worker("w").heartbeat(20ms).handle("job", [](Context&) {}).create(store());
    const WorkerId before = made.id();
    const std::string workers = place().table("workers");
    made.start();
    const auto base = database();
    const auto beats = [&] {
        return base->number(
            "select beats from " + workers + " where worker_id = " + std::to_string(before.value())
        );
    };
    EXPECT_TRUE(eventually([&] { return beats() > 2; }));
    base->run("alter table " + workers + " rename column pid to hidden");
    base->run("update " + workers + " set beats = 1");
    EXPECT_TRUE(eventually([&] { return contains(log_text(), "heartbeat failed, retrying"); }));
    EXPECT_TRUE(eventually([&] { return beats() > 10; }));
    base->run("alter table " + workers + " rename column hidden to pid");
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    EXPECT_TRUE(finished(trigger()));
}

// In the older store another worker may hold the same delivery of a message with the same id.
TEST_P(RestoredTest, a_handler_of_a_dropped_message_reports_nothing) {
    const Queue queue = make_queue();
    std::latch begun(1);
    auto made = worker("w")
                    .heartbeat(20ms)
                    .concurrency(1)
                    .on_message(
                        "work",
                        [&](HandlerContext& context) {
                            begun.count_down();
                            (void)eventually([&] { return context.stop_token().stop_requested(); });
                        }
                    )
                    .create(store());
    const WorkerId before = made.id();
    const MessageId held = queue.enqueue(Json{"1"});
    made.start();
    begun.wait();
    database()->run("delete from " + place().table("workers"));
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    made.stop();
    EXPECT_EQ(queue.find(held)->state, MessageState::leased);
    EXPECT_EQ(queue.stats().archived, 0);
}

}  // namespace
}  // namespace pawl::test
