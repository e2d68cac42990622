// Finding runs: filters, pages, counts, metrics.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunQueriesTest : public WorkflowTest {
protected:
    std::vector<RunId> found(const RunFilter& filter, const RunPage& page = {}) const {
        std::vector<RunId> ids;
        for (const RunInfo& run : store().runs(filter, page)) ids.push_back(run.id);
        return ids;
    }
};
PAWL_FOR_EACH_BACKEND(RunQueriesTest);

TEST_P(RunQueriesTest, newest_first_and_page_by_page) {
    make_workflow();
    auto all = trigger_many(25);
    std::reverse(all.begin(), all.end());
    std::vector<RunId> seen;
    RunPage page{.before = {}, .limit = 10};
    while (true) {
        const auto part = found({}, page);
        EXPECT_LE(part.size(), 10U);
        if (part.empty()) break;
        seen.insert(seen.end(), part.begin(), part.end());
        page.before = part.back();
    }
    EXPECT_EQ(seen, all);
    for (const int limit : {0, -1, 1'000'000})
        EXPECT_EQ(
            error_of([&] { (void)store().runs({}, {.before = {}, .limit = limit}); }).code(),
            ErrorCode::invalid_argument
        );
}

TEST_P(RunQueriesTest, every_filter_narrows_the_list) {
    freeze();
    make_workflow();
    make_workflow("other");
    const RunId first = trigger("job", {}, {.idempotency_key = "k", .tags = {"red"}});
    advance(10s);
    const RunId second = trigger("job", {}, {.tags = {"red", "blue"}});
    const RunId third = trigger("other", {}, {.idempotency_key = "k", .tags = {"blue"}});
    EXPECT_EQ(found({.workflow = "job"}), (std::vector{second, first}));
    EXPECT_EQ(found({.tag = "red"}), (std::vector{second, first}));
    EXPECT_EQ(found({.tag = "blue"}), (std::vector{third, second}));
    EXPECT_EQ(found({.workflow = "job", .tag = "blue"}), std::vector{second});
    EXPECT_EQ(found({.tag = "green"}), std::vector<RunId>{});
    EXPECT_EQ(found({.idempotency_key = "k"}), (std::vector{third, first}));
    EXPECT_EQ(found({.workflow = "job", .idempotency_key = "k"}), std::vector{first});
    EXPECT_EQ(found({.created_from = start + 10s}), (std::vector{third, second}));
    EXPECT_EQ(found({.created_before = start + 10s}), std::vector{first});
    EXPECT_EQ(found({.created_from = start, .created_before = start + 1s}), std::vector{first});
}

TEST_P(RunQueriesTest, runs_are_found_by_every_status_and_counted) {
    make_workflow();
    const auto runs = trigger_many(6);
    const auto held = claim_many(5);
    commit_all(
        {pause_step(held[1].lease(), "ask", 1, 1h),
         success(held[2].lease()),
         failure(held[3].lease())}
    );
    store().cancel(runs[4], "no");
    const std::vector<std::pair<RunStatus, RunId>> expected{
        {RunStatus::running, runs[0]},
        {RunStatus::paused, runs[1]},
        {RunStatus::success, runs[2]},
        {RunStatus::error, runs[3]},
        {RunStatus::cancelled, runs[4]},
        {RunStatus::queued, runs[5]}};
    for (const auto& [status, run] : expected) {
        EXPECT_EQ(found({.status = status}), std::vector{run}) << to_string(status);
        EXPECT_EQ(found({.workflow = "job", .status = status}), std::vector{run});
    }
    for (const RunFilter& filter :
         std::vector<RunFilter>{{}, {.workflow = "job"}, {.created_from = Timestamp{}}}) {
        const RunCounts counts = store().count_runs(filter);
        EXPECT_EQ(counts.queued, 1);
        EXPECT_EQ(counts.running, 1);
        EXPECT_EQ(counts.paused, 1);
        EXPECT_EQ(counts.success, 1);
        EXPECT_EQ(counts.error, 1);
        EXPECT_EQ(counts.cancelled, 1);
    }
    const RunCounts one = store().count_runs({.status = RunStatus::error});
    EXPECT_EQ(one.error, 1);
    EXPECT_EQ(one.queued + one.running + one.paused + one.success + one.cancelled, 0);
}

TEST_P(RunQueriesTest, pages_of_a_status_are_complete_too) {
    make_workflow();
    const auto runs = trigger_many(30);
    for (const Held& held : claim_many(30)) {
        if (held.message.id.value() % 2 == 0) {
            commit(failure(held.lease()));
        } else {
            commit(success(held.lease()));
        }
    }
    RunPage page{.before = {}, .limit = 4};
    std::size_t failed = 0;
    while (true) {
        const auto part = store().runs({.workflow = "job", .status = RunStatus::error}, page);
        if (part.empty()) break;
        for (const RunInfo& run : part) EXPECT_EQ(run.status, RunStatus::error);
        failed += part.size();
        page.before = part.back().id;
    }
    EXPECT_EQ(failed, 15U);
}

TEST_P(RunQueriesTest, unknown_runs_and_steps_are_clear_errors) {
    make_workflow();
    const RunId run = trigger();
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { (void)store().run(RunId(4711)).info(); },
             [&] { (void)store().run(RunId(4711)).info(); },
             [&] { (void)store().run(RunId(4711)).wait_json(0s); },
             [&] { (void)store().run(RunId(4711)).steps(); },
             [&] { (void)store().run(RunId(4711)).step("a"); },
             [&] { (void)store().run(RunId(4711)).events(); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::run_not_found);
        EXPECT_TRUE(contains(error.what(), "4711"));
    }
    EXPECT_EQ(
        error_of([&] { (void)store().run(run).step("nowhere"); }).code(), ErrorCode::step_not_found
    );
}

TEST_P(RunQueriesTest, steps_come_in_the_order_of_the_run) {
    make_workflow();
    const Held held = trigger_and_claim();
    for (int i = 1; i <= 12; ++i) commit(checkpoint(held.lease(), std::to_string(100 - i), i));
    const auto seen = store().run(held.id()).steps();
    ASSERT_EQ(seen.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i)
        EXPECT_EQ(seen[i].id, std::to_string(99 - static_cast<int>(i)));
}

TEST_P(RunQueriesTest, metrics_speak_of_what_ended_inside_the_window) {
    freeze();
    make_workflow();
    const auto old = trigger_and_claim();
    commit(success(old.lease()));
    advance(2h);
    const Timestamp begun = store().now();
    (void)trigger_many(14);
    const auto held = claim_many(12);
    for (int i = 1; i <= 10; ++i) {
        advance(1s);
        commit(success(held[static_cast<std::size_t>(i - 1)].lease()));
    }
    commit(failure(held[10].lease()));
    commit(pause_step(held[11].lease(), "ask", 1, 1h));
    store().cancel(trigger(), "no");
    (void)claim_one();
    const WorkflowMetrics seen = store().workflow_metrics("job", 100s);
    EXPECT_EQ(seen.workflow, "job");
    EXPECT_EQ(seen.window, Duration(100s));
    EXPECT_EQ(seen.succeeded, 10);
    EXPECT_EQ(seen.failed, 1);
    EXPECT_EQ(seen.cancelled, 1);
    EXPECT_NEAR(seen.success_rate, 10.0 / 11, 1e-9);
    EXPECT_NEAR(seen.failure_rate, 1.0 / 11, 1e-9);
    EXPECT_NEAR(seen.runs_per_second, 0.12, 1e-9);
    EXPECT_EQ(seen.average_duration, Duration(5500ms));
    EXPECT_EQ(seen.p50_duration, Duration(5500ms)) << "1 to 10 s, interpolated";
    EXPECT_EQ(seen.p95_duration, Duration(9550ms));
    EXPECT_EQ(seen.p99_duration, Duration(9910ms));
    EXPECT_EQ(seen.queue_depth, 1);
    EXPECT_EQ(seen.in_flight, 1);
    EXPECT_EQ(seen.waiting, 1);
    EXPECT_EQ(seen.oldest_waiting, std::chrono::duration_cast<Duration>(store().now() - begun));
}

TEST_P(RunQueriesTest, metrics_of_an_idle_workflow_are_zero) {
    make_workflow();
    const WorkflowMetrics seen = store().workflow_metrics("job");
    EXPECT_EQ(seen.window, Duration(1h));
    EXPECT_EQ(seen.succeeded + seen.failed + seen.cancelled, 0);
    EXPECT_EQ(seen.success_rate, 0);
    EXPECT_FALSE(seen.average_duration || seen.p50_duration || seen.oldest_waiting);
    EXPECT_EQ(
        error_of([&] { (void)store().workflow_metrics("nowhere"); }).code(),
        ErrorCode::workflow_not_found
    );
}

}  // namespace
}  // namespace pawl::test
