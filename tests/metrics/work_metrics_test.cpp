// Metrics of a worker's own work: runs, steps, messages, tasks, events.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <set>

#include "metrics/metrics_test.h"

namespace pawl::test {
namespace {

class WorkMetricsTest : public MetricsTest {};
PAWL_FOR_EACH_BACKEND(WorkMetricsTest);

TEST_P(WorkMetricsTest, a_workers_families_have_the_documented_names_and_types) {
    make_workflow();
    make_queue();
    flow("flow").step("a").create(store());
    auto made = worker("w")
                    .handle("job", [](Context&) {})
                    .on_message("work", [](const Message&) {})
                    .flow("flow", FlowHandlers().on("a", [](TaskContext&) {}))
                    .dispatch(Recorder().sink())
                    .metrics(fresh())
                    .create(store());
    EXPECT_EQ(
        scraped(made).types(),
        (std::vector<std::string>{
            "pawl_claim_duration_seconds histogram",
            "pawl_claim_messages histogram",
            "pawl_commit_duration_seconds histogram",
            "pawl_commit_writes histogram",
            "pawl_database_errors_total counter",
            "pawl_lease_losses_total counter",
            "pawl_message_duration_seconds histogram",
            "pawl_messages_total counter",
            "pawl_outbox_delivery_duration_seconds histogram",
            "pawl_outbox_events_total counter",
            "pawl_outbox_lag_seconds gauge",
            "pawl_queue_messages gauge",
            "pawl_queue_messages_at_least gauge",
            "pawl_queue_oldest_ready_seconds gauge",
            "pawl_retries_total counter",
            "pawl_run_duration_seconds histogram",
            "pawl_runs_total counter",
            "pawl_step_duration_seconds histogram",
            "pawl_steps_total counter",
            "pawl_store_up gauge",
            "pawl_store_workers gauge",
            "pawl_task_duration_seconds histogram",
            "pawl_tasks_total counter",
            "pawl_worker_concurrency gauge",
            "pawl_worker_executing gauge"})
    );
}

TEST_P(WorkMetricsTest, only_what_the_worker_handles_has_a_family) {
    make_workflow();
    auto made = measured([](Context&) {});
    const Scrape seen = scraped(made);
    for (const char* name :
         {"pawl_messages_total",
          "pawl_tasks_total",
          "pawl_outbox_events_total",
          "pawl_task_duration_seconds",
          "pawl_message_duration_seconds"})
        EXPECT_FALSE(seen.families().contains(name)) << name;
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("success")), 0) << "there from the start";
    for (const auto& [name, family] : seen.families()) {
        if (!name.starts_with("pawl_")) continue;
        for (const Sample& sample : family.samples) EXPECT_EQ(sample.labels.at("worker"), "w");
    }
}

TEST_P(WorkMetricsTest, runs_and_their_steps_are_counted_by_outcome) {
    make_workflow();
    (void)trigger_many(5);
    auto made = measured([](Context& ctx, int input) {
        ctx.step("good", [] {});
        ctx.step("also_good", [] {});
        if (input == 3) ctx.step("bad", [] { throw PermanentError("no luck"); });
        if (input == 4) throw PermanentError("no luck either");
    });
    while (made.poll_once() > 0) {
    }
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("success")), 3);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("error")), 2);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("cancelled")), 0);
    EXPECT_EQ(seen.value("pawl_run_duration_seconds_count"), 5);
    EXPECT_EQ(seen.value("pawl_steps_total", of_job("success")), 10);
    EXPECT_EQ(seen.value("pawl_steps_total", of_job("error")), 1);
    EXPECT_EQ(seen.value("pawl_step_duration_seconds_count"), 11);
    EXPECT_EQ(seen.value("pawl_retries_total", {{"kind", "step"}}), 0);
    EXPECT_EQ(seen.value("pawl_lease_losses_total"), 0);
    EXPECT_EQ(seen.value("pawl_worker_executing"), 0);
    EXPECT_EQ(seen.value("pawl_worker_concurrency"), 16);
}

TEST_P(WorkMetricsTest, retries_of_steps_and_of_runs_are_counted_separately) {
    make_workflow("job", {.backoff_base = 1s, .backoff_cap = 1s});
    (void)trigger();
    int step_calls = 0;
    int run_calls = 0;
    auto made = measured([&](Context& ctx) {
        ctx.step("shaky", [&] {
            if (++step_calls < 3) throw TransientError("not now");
        });
        if (++run_calls < 2) throw TransientError("nor now");
    });
    for (int i = 0; i < 4; ++i) {
        made.poll_once();
        advance(2s);
    }
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_retries_total", {{"queue", "job"}, {"kind", "step"}}), 2);
    EXPECT_EQ(seen.value("pawl_retries_total", {{"queue", "job"}, {"kind", "run"}}), 1);
    EXPECT_EQ(seen.value("pawl_steps_total", of_job("success")), 1);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("success")), 1);
    EXPECT_EQ(seen.value("pawl_run_duration_seconds_count"), 1);
}

TEST_P(WorkMetricsTest, a_runs_duration_is_that_from_its_first_start_by_the_databases_clock) {
    make_workflow();
    (void)trigger();
    auto made = measured([](Context& ctx) { ctx.sleep(1h); });
    made.poll_once();
    EXPECT_EQ(scraped(made).value("pawl_run_duration_seconds_count"), 0) << "it sleeps";
    advance(1h);
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_run_duration_seconds_count"), 1);
    EXPECT_GE(seen.value("pawl_run_duration_seconds_sum"), 3600);
    EXPECT_EQ(seen.value("pawl_run_duration_seconds_bucket", {{"le", "900"}}), 0);
    EXPECT_EQ(seen.value("pawl_run_duration_seconds_bucket", {{"le", "14400"}}), 1);
    EXPECT_EQ(seen.value("pawl_step_duration_seconds_count"), 0) << "a sleep has no body";
    EXPECT_EQ(seen.value("pawl_retries_total", {{"kind", "run"}}), 0) << "a sleep is no retry";
}

TEST_P(WorkMetricsTest, a_run_that_is_cancelled_in_the_workers_hands_is_counted_as_cancelled) {
    make_workflow();
    const std::vector<RunId> runs = trigger_many(2);
    const Store other = open();
    auto made = measured([&](Context& ctx) {
        if (ctx.run_id() == runs[0]) ctx.step("a", [&] { other.cancel(ctx.run_id(), "enough"); });
        other.cancel(ctx.run_id(), "enough");
    });
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("cancelled")), 2);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("success")), 0);
    EXPECT_EQ(seen.value("pawl_lease_losses_total"), 0);
}

TEST_P(WorkMetricsTest, a_lost_lease_is_counted_once_however_it_shows) {
    make_workflow();
    (void)trigger_many(2);
    const Store other = open();
    std::latch stolen(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx, int input) {
                            if (input == 1) return stolen.wait();  // its end comes too late,
                            // Another worker gets both in the meantime. A heartbeat may extend
                            // the leases just before it claims.
                            std::set<MessageId> taken;
                            EXPECT_TRUE(eventually([&] {
                                testing::advance_clock(other, 1min);
                                for (const Message& it : claim(2).messages) taken.insert(it.id);
                                return taken.size() == 2;
                            }));
                            stolen.count_down();
                            ctx.step("late", [] {});  // and so does this step
                        }
                    )
                    .concurrency(2)
                    .metrics(fresh())
                    .create(store());
    EXPECT_EQ(made.poll_once(), 2);
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_lease_losses_total", {{"queue", "job"}}), 2);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("success")), 0);
    EXPECT_EQ(seen.value("pawl_steps_total", of_job("success")), 0);
}

TEST_P(WorkMetricsTest, a_run_that_the_watchdog_reports_is_an_error_and_no_lost_lease) {
    make_workflow("job", {.run_timeout = 50ms});
    const RunId run = trigger();
    auto made = measured([&](Context& ctx) {
        // It ignores its stop token: the watchdog reports it without waiting for it.
        ctx.step("deaf", [&] { (void)eventually([&] { return is_finished(status(run)); }); });
    });
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_runs_total", of_job("error")), 1);
    EXPECT_EQ(seen.value("pawl_lease_losses_total"), 0);
}

TEST_P(WorkMetricsTest, messages_are_counted_by_their_outcome) {
    make_queue();
    enqueue_many(store().queue("work"), 6);
    auto made = worker("w")
                    .on_message(
                        "work",
                        [](HandlerContext& context) {
                            const std::string& payload = context.message().payload.text;
                            if (payload == "0") throw PermanentError("never");
                            if (payload == "1") throw TransientError("not now");
                            if (payload == "2") context.release(context.message(), 1h);
                        }
                    )
                    .metrics(fresh())
                    .create(store());
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_messages_total", outcome("queue", "work", "success")), 3);
    EXPECT_EQ(seen.value("pawl_messages_total", outcome("queue", "work", "error")), 1);
    EXPECT_EQ(seen.value("pawl_messages_total", outcome("queue", "work", "released")), 1);
    EXPECT_EQ(seen.value("pawl_retries_total", {{"queue", "work"}, {"kind", "message"}}), 1);
    EXPECT_EQ(seen.value("pawl_message_duration_seconds_count"), 6);
}

TEST_P(WorkMetricsTest, the_last_failed_attempt_of_a_message_is_an_error_and_no_retry) {
    make_queue("dead");
    make_queue("work", {.max_attempts = 2});
    make_queue("forwarding", {.max_attempts = 2, .dead_letter_queue = "dead"});
    for (const std::string name : {"work", "forwarding"}) enqueue_many(store().queue(name), 3);
    const auto fails = [](const Message&) { throw TransientError("not now", 0ms); };
    auto made = worker("w")
                    .on_message("work", fails)
                    .on_message("forwarding", fails)
                    .metrics(fresh())
                    .create(store());
    while (made.poll_once() > 0) {
    }
    EXPECT_EQ(store().queue("work").stats().dead, 3);
    EXPECT_EQ(store().queue("dead").stats().ready, 3);
    const Scrape seen = scraped(made);
    for (const std::string name : {"work", "forwarding"}) {
        EXPECT_EQ(seen.value("pawl_messages_total", outcome("queue", name, "error")), 3) << name;
        EXPECT_EQ(seen.value("pawl_retries_total", {{"queue", name}, {"kind", "message"}}), 3)
            << name;
    }
}

TEST_P(WorkMetricsTest, a_batch_is_one_call_and_many_messages) {
    make_queue();
    enqueue_many(store().queue("work"), 10);
    auto made = worker("w")
                    .on_batch("work", 5, [](std::span<const Message>) {})
                    .metrics(fresh())
                    .create(store());
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_messages_total", outcome("queue", "work", "success")), 10);
    EXPECT_EQ(seen.value("pawl_message_duration_seconds_count"), 2);
    EXPECT_EQ(seen.value("pawl_claim_messages_sum"), 10);
    EXPECT_EQ(seen.value("pawl_commit_writes_sum"), 10);
    EXPECT_EQ(seen.value("pawl_claim_messages_bucket", {{"le", "5"}}), 0);
    EXPECT_EQ(seen.value("pawl_claim_messages_bucket", {{"le", "10"}}), 1);
    EXPECT_EQ(
        seen.value("pawl_claim_duration_seconds_count"), seen.value("pawl_claim_messages_count")
    );
    EXPECT_EQ(
        seen.value("pawl_commit_duration_seconds_count"), seen.value("pawl_commit_writes_count")
    );
}

TEST_P(WorkMetricsTest, tasks_are_counted_by_outcome) {
    make_workflow("child");
    flow("flow")
        .max_attempts(2)
        .base_delay(1s)
        .step("good")
        .step("shaky")
        .step("child", {"good"})
        .step("bad", {"shaky"})
        .create(store());
    std::atomic<int> shaky = 0;
    auto made = worker("w")
                    .flow(
                        "flow",
                        FlowHandlers()
                            .on("good", [](TaskContext&) {})
                            .on("shaky",
                                [&](TaskContext&) {
                                    if (++shaky == 1) throw TransientError("not now");
                                })
                            .on("bad", [](TaskContext&) { throw PermanentError("never"); })
                            .on("child", workflow("child"))
                    )
                    .concurrency(1)
                    .metrics(fresh())
                    .create(store());
    (void)Trigger(NewRun{"flow", Json{"{}"}, {}}).execute(store());
    for (int i = 0; i < 4; ++i) {
        while (made.poll_once() > 0) {
        }
        advance(10s);
    }
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_tasks_total", outcome("flow", "flow", "success")), 2);
    EXPECT_EQ(seen.value("pawl_tasks_total", outcome("flow", "flow", "error")), 1);
    EXPECT_EQ(seen.value("pawl_tasks_total", outcome("flow", "flow", "delegated")), 1);
    EXPECT_EQ(seen.value("pawl_retries_total", {{"queue", "flow"}, {"kind", "task"}}), 1);
    EXPECT_EQ(seen.value("pawl_task_duration_seconds_count"), 5);
}

TEST_P(WorkMetricsTest, deliveries_of_the_outbox_are_counted) {
    make_workflow();
    publish("a", 2);
    publish("b", 1);
    publish("c", 1);
    Recorder recorder;
    recorder.answer("b-1", try_again());
    recorder.answer("c-1", rejected());
    auto made = worker("w")
                    .handle("job", [](Context&) {})
                    .dispatch(recorder.sink())
                    .metrics(fresh())
                    .create(store());
    made.poll_once();
    const Scrape seen = scraped(made);
    EXPECT_EQ(seen.value("pawl_outbox_events_total", {{"outcome", "published"}}), 2);
    EXPECT_EQ(seen.value("pawl_outbox_events_total", {{"outcome", "retry"}}), 1);
    EXPECT_EQ(seen.value("pawl_outbox_events_total", {{"outcome", "parked"}}), 1);
    EXPECT_EQ(seen.value("pawl_outbox_delivery_duration_seconds_count"), 4);
}

TEST_P(WorkMetricsTest, running_work_is_visible) {
    make_workflow();
    (void)trigger_many(2);
    std::latch begun(2);
    std::latch go(1);
    auto made = measured([&](Context&) {
        begun.count_down();
        go.wait();
    });
    made.start();
    begun.wait();
    const double executing = scraped(made).value("pawl_worker_executing");
    go.count_down();
    EXPECT_EQ(executing, 2);
    EXPECT_TRUE(eventually([&] { return scraped(made).value("pawl_worker_executing") == 0; }));
    made.stop();
}

}  // namespace
}  // namespace pawl::test
