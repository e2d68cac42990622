// Tenants: how they are found, and that no tenant reaches the rows of another.
#include "support/tenants_test.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <pawl/json.h>

#include "runtime/services/scheduler.h"

namespace pawl::test {
namespace {

class TenantStoresTest : public TenantsTest {
protected:
    // The same in every tenant, so that names and ids alone distinguish nothing.
    static void fill(const Store& store) {
        store.create_queue("work", {.max_attempts = 2});
        store.create_workflow("job");
        store.create_workflow("doomed");
        flow("flow").step("one").step("two", {"one"}).create(store);
        for (int i = 0; i < 4; ++i) store.queue("work").enqueue(Json{std::to_string(i)});
        for (int i = 0; i < 4; ++i)
            (void)Trigger(NewRun{"job", Json{"1"}, {.idempotency_key = std::to_string(i)}}
            ).execute(store);
        (void)flow("flow").start(Json{"{}"}).execute(store);
        store.create_schedule("nightly", "job", "0 2 * * *");
        store.publish({"made", Json{"1"}, "thing", {}, {}});
        (void)detail::Access::backend(store)->register_worker(
            {"w", "host", 0, 1, 30s, {"job"}, {"job"}}
        );
    }
    void SetUp() override {
        TenantsTest::SetUp();
        fill(a());
        fill(b());
        before_ = contents(name("b"));
    }
    // An operation in one tenant must leave no trace in the other.
    template <class Operation>
    void in_a(const char* what, Operation operation) {
        const Contents mine = contents(name("a"));
        operation(a());
        EXPECT_NE(contents(name("a")), mine) << what << " did nothing";
        EXPECT_EQ(contents(name("b")), before_) << what << " changed the other tenant";
    }
    static Held held_run(const Store& store) {
        seam::ClaimRequest request;
        request.queues = {store.queue("job").info().id};
        request.work = seam::Work::runs;
        const seam::Claim got = detail::Access::backend(store)->claim(request);
        return {got.messages.at(0), got.runs.at(0).value()};
    }
    static void commit_to(const Store& store, const Write& write) {
        EXPECT_EQ(
            detail::Access::backend(store)
                ->commit(std::span(&write, 1), Attempt::first)
                .front()
                .status,
            WriteStatus::done
        );
    }
    static RunId first_run(const Store& store) {
        return store.runs({.workflow = "job"}, {.limit = 100}).back().id;
    }

private:
    Contents before_;
};
PAWL_FOR_EACH_BACKEND(TenantStoresTest);

TEST_P(TenantStoresTest, tenants_have_the_same_names_and_numbers) {
    EXPECT_EQ(first_run(a()), first_run(b()));
    EXPECT_EQ(a().queue("work").info().id, b().queue("work").info().id);
}

TEST_P(TenantStoresTest, queues_of_one_are_not_the_others) {
    in_a("enqueue", [](const Store& s) { s.queue("work").enqueue(Json{"9"}); });
    in_a("dequeue and archive", [](const Store& s) {
        const Queue queue = s.queue("work");
        queue.archive(take_one(queue));
    });
    in_a("fail", [](const Store& s) {
        const Queue queue = s.queue("work");
        queue.fail(take_one(queue), "no", 0s);
    });
    in_a("a dead letter", [](const Store& s) {
        const Queue queue = s.queue("work");
        for (int i = 0; i < 4; ++i) queue.fail(take_one(queue), "no", 0s);
        EXPECT_GT(queue.stats().dead, 0);
    });
    in_a("replay", [](const Store& s) { s.queue("work").replay_dead(); });
    in_a("pause", [](const Store& s) { s.queue("work").pause(); });
    in_a("purge", [](const Store& s) { s.queue("work").purge(); });
    in_a("delete_queue", [](const Store& s) { s.delete_queue("work", DeleteMode::force); });
    EXPECT_EQ(b().queue("work").stats().ready, 4);
    EXPECT_EQ(
        error_of([&] { a().queue("work").enqueue(Json{"1"}); }).code(), ErrorCode::queue_not_found
    );
}

TEST_P(TenantStoresTest, a_lease_of_one_settles_nothing_in_the_other) {
    const Message taken = take_one(a().queue("work"));
    const Contents before = contents(name("b"));
    EXPECT_EQ(b().queue("work").archive(taken), Outcome::lease_lost);
    EXPECT_EQ(contents(name("b")), before);
    EXPECT_EQ(a().queue("work").archive(taken), Outcome::done);
}

TEST_P(TenantStoresTest, runs_of_one_are_not_the_others) {
    in_a("trigger", [](const Store& s) { (void)Trigger(NewRun{"job", Json{"2"}, {}}).execute(s); });
    in_a("claim and checkpoint", [](const Store& s) {
        const Held held = held_run(s);
        commit_to(s, checkpoint(held.lease(), "first", 1));
        commit_to(s, pause_step(held.lease(), "ask", 2, 1h));
    });
    in_a("resume", [](const Store& s) { s.resume(first_run(s), "ask", Json{"1"}); });
    in_a("claim and finish", [](const Store& s) { commit_to(s, success(held_run(s).lease())); });
    in_a("fork", [](const Store& s) { (void)s.fork(first_run(s), "ask"); });
    in_a("claim and fail", [](const Store& s) { commit_to(s, failure(held_run(s).lease())); });
    in_a("retry", [](const Store& s) {
        (void)s.retry(s.runs({.workflow = "job", .status = RunStatus::error}).at(0).id);
    });
    in_a("cancel", [](const Store& s) {
        s.cancel(s.runs({.workflow = "job", .status = RunStatus::queued}).at(0).id, "enough");
    });
    in_a("delete_run", [](const Store& s) { s.delete_run(first_run(s), "old"); });
    in_a("delete_workflow", [](const Store& s) { s.delete_workflow("doomed"); });
    EXPECT_EQ(b().count_runs({.workflow = "job"}).queued, 4);
    EXPECT_EQ(b().workflows().size(), 3U);
}

TEST_P(TenantStoresTest, an_idempotency_key_counts_within_a_tenant) {
    const Run mine = Trigger(NewRun{"job", Json{"1"}, {.idempotency_key = "new"}}).execute(a());
    const Run other = Trigger(NewRun{"job", Json{"1"}, {.idempotency_key = "new"}}).execute(b());
    EXPECT_TRUE(mine.created());
    EXPECT_TRUE(other.created());
}

TEST_P(TenantStoresTest, flows_schedules_events_and_workers_of_one_are_not_the_others) {
    in_a("a task", [](const Store& s) {
        const auto tasks = s.poll_for_tasks("flow");
        ASSERT_EQ(tasks.size(), 1U);
        EXPECT_EQ(s.complete_task(tasks[0].task, Json{"1"}, tasks[0].delivery), TaskOutcome::done);
    });
    in_a("delete_flow", [](const Store& s) { s.delete_flow_and_data("flow", DeleteMode::force); });
    in_a("pause_schedule", [](const Store& s) { s.pause_schedule("nightly"); });
    in_a("resume_schedule", [](const Store& s) { s.resume_schedule("nightly"); });
    in_a("the clock", [](const Store& s) { testing::advance_clock(s, 24h); });
    in_a("a fired schedule", [](const Store& s) {
        runtime::Scheduler(*detail::Access::backend(s)).fire_due();
    });
    in_a("delete_schedule", [](const Store& s) { s.delete_schedule("nightly"); });
    in_a("publish", [](const Store& s) { s.publish({"more", Json{"1"}, "thing", {}, {}}); });
    Recorder recorder;
    in_a("a dispatcher", [&](const Store& s) {
        (void)dispatcher(s, recorder.sink()).dispatch_once();
    });
    EXPECT_EQ(recorder.types(), "made more");
    in_a("a worker", [](const Store& s) {
        s.transition_worker(s.workers().at(0).id, WorkerEvent::stop);
    });
    in_a("purge_workers", [](const Store& s) { s.purge_workers(0s); });
    EXPECT_EQ(b().outbox().size(), 1U);
    EXPECT_EQ(b().now(), start);
}

TEST_P(TenantStoresTest, a_worker_works_its_own_store_only) {
    std::atomic<int> executed = 0;
    const auto handler = [&](Context& ctx) { ctx.step("only", [&] { ++executed; }); };
    const Contents before = contents(name("b"));
    auto made = worker("w").handle("job", handler).create(a());
    while (made.poll_once() > 0) {
    }
    made.stop();
    EXPECT_EQ(executed, 4);
    EXPECT_EQ(a().count_runs({.workflow = "job"}).success, 4);
    EXPECT_EQ(contents(name("b")), before);
}

TEST_P(TenantStoresTest, a_wait_sees_the_run_of_its_own_tenant) {
    const RunId run = first_run(a());
    commit_to(a(), success(held_run(a()).lease(), "7"));
    EXPECT_EQ(a().run(run).wait_json(0s).text, "7");
    EXPECT_EQ(error_of([&] { (void)b().run(run).wait_json(0s); }).code(), ErrorCode::wait_timeout);
}

TEST_P(TenantStoresTest, the_installed_tenants_are_listed) {
    std::vector<std::string> expected{kit().own_tenant(), name("a"), name("b")};
    EXPECT_EQ(listed_tenants(store()), expected);
    EXPECT_EQ(listed_tenants(b()), expected) << "from any of them";
    const Store c = store().tenant(name("c"));
    EXPECT_EQ(listed_tenants(c), expected) << "not installed yet";
    EXPECT_EQ(error_of([&] { (void)c.queues(); }).code(), ErrorCode::not_installed);
    c.install();
    expected.push_back(name("c"));
    EXPECT_EQ(listed_tenants(store()), expected);
    const int version = store().verify().version;
    const auto seen = store().tenants();
    const auto at = std::ranges::find(seen, name("a"), &Tenant::name);
    ASSERT_NE(at, seen.end());
    EXPECT_EQ(at->schema_version, version);
}

TEST_P(TenantStoresTest, a_url_with_a_schema_is_that_tenant) {
    const Store same = connect(kit().tenant_url(name("a")), options());
    same.queue("work").enqueue(Json{"9"});
    EXPECT_EQ(a().queue("work").stats().ready, 5);
    EXPECT_EQ(same.tenant(name("b")).queue("work").stats().ready, 4);
}

TEST_P(TenantStoresTest, a_tenant_has_the_options_and_the_log_of_its_store) {
    EXPECT_EQ(
        detail::Access::backend(a())->options().max_payload_bytes, options().max_payload_bytes
    );
    detail::Access::backend(a())->log().info("a tenant's line");
    EXPECT_TRUE(contains(log_text(), "a tenant's line"));
}

TEST_P(TenantStoresTest, bad_names_are_refused_and_make_nothing) {
    for (const std::string bad :
         {"",
          "A",
          "1a",
          "a b",
          "a-b",
          "a.b",
          "../a",
          "a/b",
          "a\\b",
          "a\"b",
          "a'b",
          "x\"; drop schema all_tenants cascade; --",
          "x'; drop table all_runs; --",
          "pg_catalog",
          "information_schema",
          "public",
          "\xc3\xa4"}) {
        const Error error = error_of([&] { (void)store().tenant(bad); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_schema_name) << bad;
        EXPECT_TRUE(contains(error.what(), "lower case letters"));
    }
    EXPECT_EQ(
        error_of([&] { (void)store().tenant(std::string(49, 'a')); }).code(),
        ErrorCode::invalid_schema_name
    );
    EXPECT_EQ(
        error_of([&] { (void)connect(kit().tenant_url("a%22b")); }).code(),
        ErrorCode::invalid_schema_name
    );
}

}  // namespace
}  // namespace pawl::test
