// Metrics of the store: depths, ages, lag, workers; and scrapes while the store is unavailable.
#include <pawl/json.h>

#include "metrics/metrics_test.h"

namespace pawl::test {
namespace {

class StoreMetricsTest : public MetricsTest {
protected:
    static LabelSet state(const char* state, const char* queue = "work") {
        return {{"queue", queue}, {"state", state}};
    }
    [[nodiscard]] Worker idle(MetricsOptions metrics) const {
        return worker("w")
            .on_message("work", [](const Message&) {})
            .metrics(std::move(metrics))
            .create(store());
    }
    // Until it is renamed back, the store cannot read its queues.
    void rename_queues(const std::string& from, const std::string& to) const {
        database()->run("alter table " + place().table(from) + " rename to " + to_name(to));
    }
    [[nodiscard]] std::string to_name(const std::string& table) const {
        return on_postgres() ? table : place().table(table);
    }
};
PAWL_FOR_EACH_BACKEND(StoreMetricsTest);

TEST_P(StoreMetricsTest, depths_and_the_oldest_ready_age_are_those_of_the_store) {
    make_queue("other");
    const Queue queue = make_queue("work", {.max_attempts = 1});
    enqueue_many(store().queue("other"), 3);
    auto made = idle(fresh());
    EXPECT_EQ(scraped(made).value("pawl_queue_messages", state("ready")), 0);
    EXPECT_EQ(scraped(made).value("pawl_queue_oldest_ready_seconds", {{"queue", "work"}}), 0);
    enqueue_many(queue, 5);
    queue.enqueue(Json{"1"}, {.delay = 1h});
    const Message taken = take_one(queue);
    queue.fail(take_one(queue), "never", 0s);
    advance(20s);
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_queue_messages", state("ready")), 3);
    EXPECT_EQ(seen.value("pawl_queue_messages", state("waiting")), 1);
    EXPECT_EQ(seen.value("pawl_queue_messages", state("leased")), 1);
    EXPECT_EQ(seen.value("pawl_queue_messages", state("dead")), 1);
    EXPECT_EQ(seen.value("pawl_queue_oldest_ready_seconds", {{"queue", "work"}}), 20);
    EXPECT_EQ(seen.find("pawl_queue_messages", state("ready", "other")), std::nullopt)
        << "only what the worker handles";
    advance(1h);
    EXPECT_EQ(scraped(made).value("pawl_queue_messages", state("ready")), 5)
        << "a delay and a lease have ended";
}

TEST_P(StoreMetricsTest, a_queue_that_was_deleted_has_no_depth) {
    make_queue();
    auto made = idle(fresh());
    store().delete_queue("work", DeleteMode::force);
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_store_up"), 1);
    EXPECT_FALSE(seen.families().contains("pawl_queue_messages"));
    EXPECT_EQ(seen.value("pawl_outbox_lag_seconds"), 0);
}

TEST_P(StoreMetricsTest, the_outbox_lag_is_the_age_of_the_oldest_event_that_is_due) {
    make_queue();
    auto made = idle(fresh());
    EXPECT_EQ(scraped(made).value("pawl_outbox_lag_seconds"), 0);
    publish("a", 1);
    advance(42s);
    publish("b", 1);
    EXPECT_EQ(scraped(made).value("pawl_outbox_lag_seconds"), 42);
}

TEST_P(StoreMetricsTest, live_and_lost_workers_are_counted) {
    make_queue();
    const WorkerId silent =
        detail::Access::backend(store())->register_worker({"silent", "host", 0, 1, 30s, {}, {}});
    auto made = idle(fresh());
    EXPECT_EQ(scraped(made).value("pawl_store_workers", {{"state", "live"}}), 2);
    store().transition_worker(silent, WorkerEvent::stop);
    EXPECT_EQ(scraped(made).value("pawl_store_workers", {{"state", "live"}}), 1);
    (void)detail::Access::backend(store())->register_worker({"lost", "host", 0, 1, 30s, {}, {}});
    advance(31s);
    EXPECT_GE(scraped(made).value("pawl_store_workers", {{"state", "lost"}}), 1);
}

TEST_P(StoreMetricsTest, values_read_from_the_store_are_cached) {
    const Queue queue = make_queue();
    auto made = idle({.refresh = 1h});
    EXPECT_EQ(scraped(made).value("pawl_queue_messages", state("ready")), 0);
    enqueue_many(queue, 5);
    EXPECT_EQ(scraped(made).value("pawl_queue_messages", state("ready")), 0) << "not asked again";
}

TEST_P(StoreMetricsTest, a_store_that_fails_does_not_make_the_scrape_fail) {
    make_queue();
    auto made = idle(fresh());
    rename_queues("queues", "hidden");
    const Scrape without = scraped(made);
    EXPECT_EQ(without.value("pawl_store_up"), 0);
    for (const char* name :
         {"pawl_queue_messages",
          "pawl_queue_oldest_ready_seconds",
          "pawl_outbox_lag_seconds",
          "pawl_store_workers"})
        EXPECT_FALSE(without.families().contains(name)) << name;
    EXPECT_EQ(without.value("pawl_messages_total", outcome("queue", "work", "success")), 0);
    rename_queues("hidden", "queues");
    EXPECT_EQ(scraped(made).value("pawl_store_up"), 1);
}

TEST_P(StoreMetricsTest, claims_that_fail_are_counted) {
    make_queue();
    auto made = idle(fresh());
    rename_queues("queues", "hidden");
    made.start();
    EXPECT_TRUE(eventually([&] {
        return scraped(made).value("pawl_database_errors_total", {{"operation", "claim"}}) > 0;
    }));
    rename_queues("hidden", "queues");
    made.stop();
}

}  // namespace
}  // namespace pawl::test
