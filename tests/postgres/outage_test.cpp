// What a worker keeps while the database is unreachable, or has locked its rows.
#include <future>
#include <latch>
#include <pawl/json.h>

#include "support/far_store_test.h"

namespace pawl::test {
namespace {

class OutageTest : public FarStoreTest {
protected:
    void SetUp() override {
        FarStoreTest::SetUp();
        freeze();
    }
};
INSTANTIATE_TEST_SUITE_P(, OutageTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(OutageTest, workers_are_not_declared_lost_while_heartbeats_could_not_be_written) {
    make_workflow("billing.a");
    make_workflow("billing.b");
    std::latch begun(1);
    std::latch go(1);
    auto busy = worker("busy")
                    .handle(
                        "billing.b",
                        [&](Context&) {
                            begun.count_down();
                            go.wait();
                        }
                    )
                    .concurrency(1)
                    .create(far());
    auto prefix =
        worker("prefix").handle("billing.a", [](Context&) {}).subscribe("billing.").create(far());
    (void)trigger("billing.b");
    const RunId waiting = trigger("billing.b");
    busy.start();
    begun.wait();
    prefix.start();
    gate().refuse_new_connections(true);
    gate().drop_connections();
    advance(1h);  // no heartbeat arrived for that long
    EXPECT_TRUE(eventually([&] {
        return log_text().find("database does not answer") != std::string::npos;
    }));
    gate().refuse_new_connections(false);
    EXPECT_TRUE(finished(trigger("billing.a"))) << "it looks for unhandled runs before it claims";
    EXPECT_EQ(status(waiting), RunStatus::queued);
    go.count_down();
    prefix.stop();
    busy.stop();
}

TEST_P(OutageTest, a_lease_is_extended_as_soon_as_its_row_is_free) {
    make_workflow();
    const RunId locked = trigger();
    const RunId cancelled = trigger();
    std::latch begun(2);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context&) {
                            begun.count_down();
                            go.wait();
                        }
                    )
                    .lease(1h)
                    .create(store());
    made.start();
    begun.wait();
    const auto before = message_of(locked)->visible_at;
    advance(1min);
    const auto sql = database();
    sql->run("set search_path = " + place().schema());
    sql->run(
        "begin; select from messages where message_id = " + std::to_string(locked.value()) +
        " for update"
    );
    open().cancel(cancelled, "not wanted");  // the worker is notified, and sends a heartbeat
    EXPECT_TRUE(eventually([&] {
        return sql->number(
                   "select count(*) from workers where heartbeat_at > '" +
                   sql->value("select started_at from workers") + "'"
               ) == 1;
    }));
    sql->run("commit");
    EXPECT_TRUE(eventually([&] { return message_of(locked)->visible_at > before; }));
    go.count_down();
    made.stop();
}

TEST_P(OutageTest, poll_once_retries_while_the_database_is_unreachable) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3000);
    std::latch closed(1);
    const auto handler = [&](const Message& message) {
        if (message.payload.text != "0") return;
        gate().refuse_new_connections(true);
        gate().drop_connections();
        closed.count_down();
    };
    auto made = worker("w").on_message("work", handler).concurrency(1).create(far());
    const std::jthread reopens([&] {
        closed.wait();
        EXPECT_TRUE(eventually([&] {
            return log_text().find("database does not answer") != std::string::npos;
        }));
        gate().refuse_new_connections(false);
    });
    EXPECT_EQ(made.poll_once(), 3000);
    EXPECT_EQ(queue.stats().archived, 3000);
}

TEST_P(OutageTest, poll_once_gives_up_after_the_retry_timeout_and_can_be_called_again) {
    make_workflow();
    const RunId run = trigger();
    ConnectOptions impatient = options();
    impatient.retry_timeout = 50ms;
    const Store store = connect(with_port(place().url(), gate().port()), impatient);
    auto made = worker("w").handle("job", [](Context&) {}).create(store);
    gate().refuse_new_connections(true);
    gate().drop_connections();
    EXPECT_EQ(error_of([&] { made.poll_once(); }).code(), ErrorCode::connection_failed);
    gate().refuse_new_connections(false);
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(OutageTest, suspend_stops_claiming_before_it_writes_the_status) {
    make_workflow("job");
    make_workflow("other");
    auto made = worker("w").handle("job", [](Context&) {}).create(store());
    auto other = worker("other").handle("other", [](Context&) {}).create(store());
    made.start();
    other.start();
    const auto sql = database();
    sql->run("set search_path = " + place().schema());
    sql->run(
        "begin; select from workers where worker_id = " + std::to_string(made.id().value()) +
        " for update"
    );
    auto suspended = std::async(std::launch::async, [&] { made.suspend(); });
    const auto watch = database();
    EXPECT_TRUE(eventually([&] {
        return watch->number(
                   "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and "
                   "datname = current_database() and query like '%transition_worker%'"
               ) > 0;
    }));
    // No claim that began before is under way: the claimers and schedulers of both workers wait.
    EXPECT_TRUE(eventually([&] {
        return detail::Access::backend(store())->wake_hub().waiters() >= 4;
    }));
    const RunId job = trigger("job");
    EXPECT_TRUE(finished(trigger("other"))) << "another worker claims meanwhile";
    sql->run("commit");
    suspended.get();
    EXPECT_EQ(status(job), RunStatus::queued);
    made.resume();
    EXPECT_TRUE(finished(job));
}

TEST_P(OutageTest, nothing_is_in_doubt_on_a_connection_that_ended_before) {
    const Queue queue = make_queue();
    const Queue behind = far().queue("work");
    behind.enqueue(Json{"1"});
    const auto sql = database();
    const auto sessions = [&] {
        return sql->number(
            "select count(*) from pg_stat_activity where datname = current_database() and "
            "query like '%" +
            place().schema() + "%enqueue_batch%' and pid <> pg_backend_pid()"
        );
    };
    EXPECT_EQ(sessions(), 1);
    gate().drop_connections();
    EXPECT_TRUE(eventually([&] { return sessions() == 0; }));
    EXPECT_NO_THROW(behind.enqueue(Json{"2"}));
    EXPECT_EQ(queue.stats().ready, 2);
}

TEST_P(OutageTest, an_outage_is_not_logged_for_each_service_and_attempt) {
    make_workflow();
    auto made = worker("w").handle("job", [](Context&) {}).heartbeat(20ms).create(far());
    made.start();
    EXPECT_TRUE(finished(trigger()));
    gate().refuse_new_connections(true);
    gate().drop_connections();
    // The listener is one of several services that connect; each has tried more than once.
    EXPECT_TRUE(eventually([&] { return gate().refused() > 30; }));
    gate().refuse_new_connections(false);
    EXPECT_TRUE(eventually([&] { return contains(log_text(), "connected again after"); }));
    made.stop();
    const std::string text = log_text();
    const auto lines_with = [&](const std::string& words) {
        int count = 0;
        for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
            ++count;
        return count;
    };
    // A service that was idle may notice its lost connection after the others have recovered.
    EXPECT_LE(lines_with("database does not answer, retrying: "), 3) << text;
    EXPECT_LE(lines_with("connected again after "), 3) << text;
    EXPECT_EQ(lines_with("workers poll meanwhile"), 0) << text;
    EXPECT_EQ(lines_with("\t"), 0) << text;
}

}  // namespace
}  // namespace pawl::test
