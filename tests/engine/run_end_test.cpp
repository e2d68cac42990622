// Ends of runs without a blocked thread: callbacks, and waits that can be stopped.
#include <future>
#include <pawl/json.h>
#include <stop_token>
#include <thread>

#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunEndTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(RunEndTest);
using RunEndWakeupTest = WithoutPolling<RunEndTest>;
PAWL_FOR_EACH_BACKEND(RunEndWakeupTest);

// Ends of runs as a callback reports them.
class Ends {
public:
    std::function<void(const RunInfo&)> callback() {
        return [this](const RunInfo& info) {
            const std::lock_guard lock(mutex_);
            infos_.push_back(info);
            changed_.notify_all();
        };
    }
    std::vector<RunInfo> wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, 30s, [&] { return infos_.size() >= count; });
        return infos_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<RunInfo> infos_;
};

TEST_P(RunEndTest, on_end_is_called_once_with_the_result) {
    make_workflow();
    auto made = worker_for([](Context&, int n) { return n + 1; });
    Ends ends;
    const Run run = workflow("job").trigger(41).execute(store());
    run.on_end(ends.callback());
    made.start();
    ASSERT_EQ(ends.wait_for(1).size(), 1U);
    EXPECT_EQ(ends.wait_for(1).front().id, run.id());
    EXPECT_EQ(ends.wait_for(1).front().output_as<int>(), 42);
    run.on_end(ends.callback());
    EXPECT_EQ(ends.wait_for(2).size(), 2U) << "a run that has ended calls it too";
    made.stop();
    EXPECT_EQ(ends.wait_for(2).size(), 2U);
}

TEST_P(RunEndTest, each_callback_of_a_run_is_called) {
    make_workflow();
    Ends ends;
    const Run run = store().run(trigger());
    run.on_end(ends.callback());
    run.on_end(ends.callback());
    run.cancel("enough");
    const auto infos = ends.wait_for(2);
    ASSERT_EQ(infos.size(), 2U);
    EXPECT_EQ(infos.front().status, RunStatus::cancelled);
    EXPECT_EQ(infos.back().status, RunStatus::cancelled);
}

TEST_P(RunEndTest, a_deleted_run_has_ended) {
    make_workflow();
    Ends ends;
    const Run run = store().run(trigger());
    run.on_end(ends.callback());
    run.soft_delete("a mistake");
    ASSERT_EQ(ends.wait_for(1).size(), 1U);
    EXPECT_EQ(ends.wait_for(1).front().deleted_reason, "a mistake");
}

TEST_P(RunEndTest, on_end_of_an_unknown_run_is_refused) {
    const Run unknown = store().run(RunId(987'654));
    EXPECT_EQ(
        error_of([&] { unknown.on_end([](const RunInfo&) {}); }).code(), ErrorCode::run_not_found
    );
    make_workflow();
    EXPECT_EQ(
        error_of([&] { store().run(trigger()).on_end(nullptr); }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(RunEndTest, a_callback_that_throws_does_not_affect_others) {
    make_workflow();
    Ends ends;
    const Run first = store().run(trigger());
    const Run second = store().run(trigger());
    first.on_end([](const RunInfo&) { throw std::runtime_error("the callback's own fault"); });
    first.on_end(ends.callback());
    second.on_end(ends.callback());
    first.cancel("enough");
    second.cancel("enough");
    EXPECT_EQ(ends.wait_for(2).size(), 2U);
}

TEST_P(RunEndWakeupTest, an_end_in_another_store_is_heard) {
    make_workflow();
    Ends ends;
    const Store other = open();
    const RunId run = trigger();
    other.run(run).on_end(ends.callback());
    ASSERT_TRUE(waits_for_runs(other));
    store().cancel(run, "enough");
    EXPECT_EQ(ends.wait_for(1).size(), 1U);
}

TEST_P(RunEndTest, no_callback_runs_after_the_last_handle_is_gone) {
    make_workflow();
    const RunId run = trigger();
    std::atomic<bool> called = false;
    {
        const Store other = open();
        other.run(run).on_end([&](const RunInfo&) { called = true; });
    }
    store().cancel(run, "enough");
    EXPECT_FALSE(called);
}

TEST_P(RunEndTest, a_callback_may_drop_the_last_handle) {
    make_workflow();
    const RunId run = trigger();
    std::promise<RunStatus> ended;
    {
        auto other = std::make_unique<Store>(open());
        const Run handle = other->run(run);
        handle.on_end([&ended, owned = std::shared_ptr<Store>(std::move(other))](const RunInfo& info
                      ) { ended.set_value(info.status); });
    }
    store().cancel(run, "enough");
    EXPECT_EQ(ended.get_future().get(), RunStatus::cancelled);
}

TEST_P(RunEndWakeupTest, a_wait_ends_when_its_stop_is_requested) {
    make_workflow();
    const Run run = store().run(trigger());
    std::stop_source stop;
    std::jthread stopper([&] {
        EXPECT_TRUE(waits_for_runs(store()));
        stop.request_stop();
    });
    const Error error = error_of([&] { (void)run.wait(stop.get_token()); });
    EXPECT_EQ(error.code(), ErrorCode::wait_stopped);
    EXPECT_EQ(run.status(), RunStatus::queued) << "the run is not affected";
}

TEST_P(RunEndTest, a_stop_before_the_wait_ends_it_too) {
    make_workflow();
    std::stop_source stop;
    stop.request_stop();
    const Run run = store().run(trigger());
    EXPECT_EQ(
        error_of([&] { (void)run.wait(30s, stop.get_token()); }).code(), ErrorCode::wait_stopped
    );
}

}  // namespace
}  // namespace pawl::test
