// Results: waiting for a run in the store of this and of another process, typed workflows, forms of
// handlers.
#include <atomic>
#include <future>
#include <latch>
#include <pawl/compat.h>
#include <pawl/json.h>
#include <thread>

#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

struct Params {
    std::string bucket;
    int count = 0;
};
struct Result {
    std::string path;
    friend bool operator==(const Result&, const Result&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Params, bucket, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Result, path)

inline constexpr Workflow<Params, Result> zip{"zip_files"};
inline constexpr Workflow<void, void> tick{"tick"};
inline constexpr Workflow<int, void> note{"note"};

Result zip_files(Context& ctx, const Params& params) {
    return ctx.step("zip", [&] {
        return Result{params.bucket + "/" + std::to_string(params.count) + ".zip"};
    });
}

class WaitTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(WaitTest);
using WaitWakeupTest = WithoutPolling<WaitTest>;
PAWL_FOR_EACH_BACKEND(WaitWakeupTest);

TEST_P(WaitTest, wait_returns_the_output) {
    make_workflow();
    auto made = worker_for([](Context&, int n) { return n + 1; });
    made.start();
    const Run run = workflow("job").trigger(41).execute(store());
    EXPECT_EQ(run.wait<int>(30s), 42);
    EXPECT_EQ(run.wait_json(0s), Json{"42"}) << "and again without waiting";
    EXPECT_EQ(run.output<int>(), 42);
}

TEST_P(WaitWakeupTest, a_waiter_in_another_store_is_woken) {
    make_workflow();
    std::latch go(1);
    auto made = worker_for([&](Context&) {
        go.wait();
        return 1;
    });
    made.start();
    const Store other = open();
    const RunId run = trigger();
    std::jthread release([&] {
        EXPECT_TRUE(waits_for_runs(other));
        go.count_down();
    });
    EXPECT_EQ(other.run(run).wait<int>(no_limit), 1);
}

TEST_P(WaitWakeupTest, many_may_wait_for_one_run) {
    make_workflow();
    const RunId run = trigger();
    std::vector<std::future<int>> waiters;
    const Store other = open();
    for (int i = 0; i < 4; ++i) {
        waiters.push_back(std::async(std::launch::async, [&, i] {
            return (i % 2 == 0 ? store() : other).run(run).wait<int>(no_limit);
        }));
    }
    EXPECT_TRUE(waits_for_runs(store(), 2));
    EXPECT_TRUE(waits_for_runs(other, 2));
    auto made = worker_for([](Context&) { return 1; });
    made.start();
    for (auto& waiter : waiters) EXPECT_EQ(waiter.get(), 1);
}

TEST_P(WaitTest, a_timeout_is_its_own_error_and_does_not_harm_the_run) {
    make_workflow();
    const Run run = workflow("job").trigger().execute(store());
    for (const Duration timeout : {0ms, 20ms}) {
        const Error error = error_of([&] { (void)run.wait_json(timeout); });
        EXPECT_EQ(error.code(), ErrorCode::wait_timeout);
        EXPECT_TRUE(contains(error.what(), std::to_string(run.id().value())));
    }
    EXPECT_EQ(run.status(), RunStatus::queued);
    auto made = worker_for([](Context&) { return 1; });
    made.start();
    EXPECT_EQ(run.wait<int>(30s), 1);
}

TEST_P(WaitTest, waiting_for_a_failed_run_throws_its_error) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("charge", [] { throw PermanentError("card declined"); });
    });
    made.start();
    try {
        (void)store().run(run).wait_json(30s);
        ADD_FAILURE() << "expected ExecutionFailed";
    } catch (const ExecutionFailed& failed) {
        EXPECT_EQ(failed.code(), ErrorCode::execution_failed);
        EXPECT_EQ(failed.run(), run);
        EXPECT_TRUE(contains(failed.what(), "card declined"));
        EXPECT_EQ(error_in(failed.error()).step, "charge");
    }
}

TEST_P(WaitTest, a_cancel_or_delete_ends_the_wait) {
    make_workflow();
    const auto runs = trigger_many(2);
    std::jthread operator_thread([&] {
        const Store other = open();
        other.cancel(runs[0], "not wanted");
        other.delete_run(runs[1], "wrong one");
    });
    const Error cancelled = error_of([&] { (void)store().run(runs[0]).wait_json(30s); });
    EXPECT_EQ(cancelled.code(), ErrorCode::run_cancelled);
    EXPECT_TRUE(contains(cancelled.what(), "not wanted"));
    EXPECT_EQ(
        error_of([&] { (void)store().run(runs[1]).wait_json(30s); }).code(), ErrorCode::run_deleted
    );
    EXPECT_EQ(
        error_of([&] { (void)store().run(RunId(4711)).wait_json(30s); }).code(),
        ErrorCode::run_not_found
    );
}

TEST_P(WaitTest, an_output_of_another_type_is_a_serialization_error) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context&) { return std::string("text"); });
    made.poll_once();
    EXPECT_EQ(
        error_of([&] { (void)store().run(run).output<int>(); }).code(),
        ErrorCode::serialization_error
    );
    EXPECT_EQ(store().run(run).output<std::string>(), "text");
}

TEST_P(WaitTest, the_blocking_form_triggers_and_waits) {
    make_workflow();
    auto made = worker_for([](Context&, int n) {
        if (n < 0) throw PermanentError("below zero");
        return n * 2;
    });
    made.start();
    EXPECT_EQ(workflow("job").trigger(21).priority(3).wait(30s).execute<int>(store()), 42);
    EXPECT_EQ(
        error_of([&] { (void)workflow("job").trigger(-1).wait(30s).execute<int>(store()); }).code(),
        ErrorCode::execution_failed
    );
    EXPECT_EQ(
        error_of([&] { (void)workflow("nowhere").trigger(1).wait(30s).execute<int>(store()); }
        ).code(),
        ErrorCode::workflow_not_found
    );
}

TEST_P(WaitTest, a_typed_workflow_goes_from_parameters_to_result) {
    make_workflow("zip_files");
    auto made = worker("w").handle(zip, zip_files).create(store());
    made.start();
    const RunOf<Result> run = zip.trigger({"photos", 3}).priority(5).tag("t").execute(store());
    const Result result = run.wait(30s);
    EXPECT_EQ(result, (Result{"photos/3.zip"}));
    EXPECT_EQ(run.output(), result);
    EXPECT_EQ(zip.get_run(run.id(), store()).output(), result);
    EXPECT_EQ(run.info().priority, 5);
}

TEST_P(WaitTest, parameters_and_results_may_be_void) {
    make_workflow("tick");
    make_workflow("note");
    std::atomic<int> ticks = 0;
    std::atomic<int> noted = 0;
    auto made = worker("w").handle(
                               tick, [&](Context&) { ++ticks; }
    ).handle(note, [&](Context&, int n) {
         noted = n;
     }).create(store());
    made.start();
    tick.trigger().execute(store()).wait(30s);
    note.trigger(7).execute(store()).wait(30s);
    EXPECT_EQ(ticks, 1);
    EXPECT_EQ(noted, 7);
}

TEST_P(WaitTest, handlers_come_in_every_form) {
    for (const std::string name : {"function", "value", "json", "nothing"}) make_workflow(name);
    auto made = worker("w")
                    .handle("function", &zip_files)
                    .handle("value", [](Context&, Params params) { return params.count; })
                    .handle("json", [](Context&, const Json& input) { return input; })
                    .handle("nothing", [](Context&) {})
                    .create(store());
    made.start();
    const Params params{"b", 2};
    EXPECT_EQ(
        workflow("function").trigger(params).wait(30s).execute<Result>(store()), (Result{"b/2.zip"})
    );
    EXPECT_EQ(workflow("value").trigger(params).wait(30s).execute<int>(store()), 2);
    EXPECT_EQ(workflow("json").trigger(Json{"[1, 2]"}).wait(30s).execute(store()), Json{"[1, 2]"});
    EXPECT_EQ(workflow("nothing").trigger().wait(30s).execute(store()), Json{"null"});
}

TEST_P(WaitTest, the_consumer_form_works_one_workflow) {
    make_workflow("zip_files");
    auto made = consumer("worker-1", 8080, "zip_files").handler(zip_files).create(store());
    made.start();
    EXPECT_EQ(zip.trigger({"a", 1}).execute(store()).wait(30s), (Result{"a/1.zip"}));
    const WorkerInfo seen = store().worker_info(made.id());
    EXPECT_EQ(seen.name, "worker-1");
    EXPECT_EQ(seen.port, 8080);
    EXPECT_EQ(seen.handlers, std::vector<std::string>{"zip_files"});
}

TEST_P(WaitTest, typed_triggers_go_in_batches_too) {
    make_workflow("zip_files");
    make_workflow("note");
    const std::vector<Trigger> batch{
        zip.trigger({"a", 1}), note.trigger(5), zip.trigger({"b", 2}).priority(9)};
    const auto runs = store().trigger(batch);
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[1].info().workflow, "note");
    EXPECT_EQ(runs[2].info().priority, 9);
}

TEST_P(WaitTest, a_worker_for_an_unknown_workflow_is_refused) {
    EXPECT_EQ(
        error_of([&] { (void)worker_for([](Context&) {}, "nowhere"); }).code(),
        ErrorCode::workflow_not_found
    );
    make_queue("plain");
    EXPECT_EQ(
        error_of([&] { (void)worker_for([](Context&) {}, "plain"); }).code(),
        ErrorCode::workflow_not_found
    );
}

TEST_P(WaitTest, a_paused_workflow_is_not_worked_until_it_is_resumed) {
    make_workflow();
    store().queue("job").pause();
    auto made = worker_for([](Context&) { return 1; });
    const RunId run = trigger();
    EXPECT_EQ(made.poll_once(), 0);
    made.start();
    store().queue("job").resume();
    EXPECT_EQ(store().run(run).wait<int>(30s), 1);
}

}  // namespace
}  // namespace pawl::test
