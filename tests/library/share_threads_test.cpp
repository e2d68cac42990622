// Workers whose runs share threads between their steps.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <pawl/json.h>
#include <set>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class ShareThreadsTest : public WorkflowTest {
protected:
    template <class F>
    [[nodiscard]] Worker sharing(F function, int concurrency = 64) const {
        return worker("w")
            .handle("job", std::move(function))
            .concurrency(concurrency)
            .share_threads()
            .create(store());
    }
};

TEST_P(ShareThreadsTest, many_runs_need_few_threads) {
    make_workflow();
    const auto runs = trigger_many(300);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    auto made = sharing([&](Context& ctx) {
        int sum = 0;
        for (int i = 0; i < 3; ++i)
            sum += ctx.step("add", [&] {
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
                return i;
            });
        return sum;
    });
    made.start();
    for (const RunId run : runs) ASSERT_TRUE(finished(run));
    made.stop();
    EXPECT_EQ(store().count_runs().success, 300);
    for (const RunId run : runs) EXPECT_EQ(info(run).output, Json{"3"});
    // One thread per processor, and one that steps in while another waits for a lock.
    EXPECT_LE(threads.size(), 2 * std::max(2U, std::thread::hardware_concurrency()));
}

// All of them wait for each other inside a body: that needs one thread each.
TEST_P(ShareThreadsTest, bodies_that_block_get_threads_of_their_own) {
    constexpr int count = 12;
    make_workflow();
    const auto runs = trigger_many(count);
    std::mutex mutex;
    std::condition_variable met;
    int inside = 0;
    auto made = sharing([&](Context& ctx) {
        ctx.step("before", [] {});
        ctx.step("meet", [&] {
            std::unique_lock lock(mutex);
            ++inside;
            met.notify_all();
            met.wait(lock, [&] { return inside == count; });
        });
    });
    made.start();
    for (const RunId run : runs) ASSERT_TRUE(finished(run));
    made.stop();
    EXPECT_EQ(store().count_runs().success, count);
}

// None of them blocks for long, but together they keep a thread busy.
TEST_P(ShareThreadsTest, bodies_that_take_their_time_get_more_than_one_processor) {
    make_workflow();
    const auto runs = trigger_many(200);
    std::mutex mutex;
    std::condition_variable met;
    int inside = 0;
    bool together = false;
    auto made = sharing([&](Context& ctx) {
        for (int i = 0; i < 3; ++i) {
            ctx.step("work", [&] {
                std::unique_lock lock(mutex);
                together = ++inside > 1 || together;
                met.notify_all();
                met.wait_for(lock, 2ms, [&] { return together; });
                --inside;
            });
        }
    });
    made.start();
    for (const RunId run : runs) ASSERT_TRUE(finished(run));
    made.stop();
    EXPECT_EQ(together, std::thread::hardware_concurrency() > 1);
}

// Each thread has a stack of exceptions being handled: it must follow the run to another thread.
TEST_P(ShareThreadsTest, steps_in_a_catch_block_keep_their_exception) {
    make_workflow();
    const auto runs = trigger_many(50);
    auto made = sharing([&](Context& ctx) {
        const std::string mine = std::to_string(ctx.run_id().value());
        try {
            throw std::runtime_error(mine);
        } catch (const std::exception& error) {
            ctx.step("compensate", [] {});
            try {
                ctx.step("fails", []() -> int { throw PermanentError("no"); });
            } catch (const StepError&) {
                ctx.step("again", [] {});
            }
            try {
                throw;
            } catch (const std::exception& again) {
                return std::string(error.what()) == mine && again.what() == mine;
            }
        }
    });
    made.start();
    for (const RunId run : runs) ASSERT_TRUE(finished(run));
    made.stop();
    for (const RunId run : runs) EXPECT_EQ(info(run).output, Json{"true"});
}

TEST_P(ShareThreadsTest, a_foreign_thread_is_refused) {
    make_workflow();
    const RunId run = trigger();
    auto made = sharing([&](Context& ctx) {
        std::string code;
        std::thread([&] {
            try {
                ctx.step("elsewhere", [] {});
            } catch (const Error& error) {
                code = to_string(error.code());
            }
        }).join();
        ctx.step("here", [] {});
        return code;
    });
    made.start();
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(info(run).output, Json{R"("context_misuse")"});
}

TEST_P(ShareThreadsTest, a_worker_that_goes_leaves_its_runs_to_others) {
    make_workflow();
    const RunId run = trigger();
    std::atomic<bool> entered = false;
    {
        auto made = sharing([&](Context& ctx) {
            ctx.step("first", [] {});
            ctx.step("second", [&] {
                entered = true;
                std::mutex mutex;
                std::condition_variable_any stopped;
                std::unique_lock lock(mutex);
                stopped.wait(lock, ctx.stop_token(), [] { return false; });
                throw std::runtime_error("asked to stop");
            });
        });
        made.start();
        ASSERT_TRUE(eventually([&] { return entered.load(); }));
        EXPECT_EQ(made.stop(0s).stuck, 1);
    }
    int first = 0;
    auto next = sharing([&](Context& ctx) {
        ctx.step("first", [&] { ++first; });
        return ctx.step("second", [] { return 2; });
    });
    next.start();
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(info(run).output, Json{"2"});
    EXPECT_EQ(first, 0) << "it is recorded";
}

PAWL_FOR_EACH_BACKEND(ShareThreadsTest);

}  // namespace
}  // namespace pawl::test
