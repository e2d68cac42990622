// One process with workers for several stores, and the signals that stop all of them.
#include <csignal>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "support/process.h"
#include "support/tenants_test.h"

namespace pawl::test {
namespace {

class SeveralWorkersTest : public TenantsTest {
protected:
    [[nodiscard]] std::vector<Worker> one_for_each(const Handler& handler) const {
        std::vector<Worker> workers;
        for (const Store* store : {&a(), &b()}) {
            store->create_queue("work");
            workers.push_back(worker("w").on_message("work", handler).create(*store));
        }
        return workers;
    }
    static bool all_stopped(const Store& store) {
        return std::ranges::all_of(store.workers(), [](const WorkerInfo& info) {
            return info.status == WorkerStatus::stopped;
        });
    }
};
PAWL_FOR_EACH_BACKEND(SeveralWorkersTest);

TEST_P(SeveralWorkersTest, a_signal_drains_the_workers_of_all_stores) {
    std::latch begun(2);
    std::latch go(1);
    auto workers = one_for_each([&](HandlerContext&) {
        begun.count_down();
        go.wait();
    });
    std::thread polling([&] { poll_forever(workers); });
    for (const Store* store : {&a(), &b()}) store->queue("work").enqueue(Json{"1"});
    begun.wait();
    std::raise(SIGTERM);
    go.count_down();
    polling.join();
    for (const Store* store : {&a(), &b()}) {
        EXPECT_EQ(store->queue("work").stats().archived, 1) << "what had begun was finished";
        EXPECT_TRUE(all_stopped(*store));
    }
}

TEST_P(SeveralWorkersTest, a_signal_from_before_does_not_end_workers_that_come_later) {
    auto first = one_for_each([](HandlerContext&) {});
    first[0].handle_signals();
    std::raise(SIGINT);
    first[0].poll_forever();
    std::latch handled(2);
    auto workers = one_for_each([&](HandlerContext&) { handled.count_down(); });
    std::thread polling([&] { poll_forever(workers); });
    for (const Store* store : {&a(), &b()}) store->queue("work").enqueue(Json{"1"});
    handled.wait();
    for (const Worker& made : workers) EXPECT_EQ(made.status(), WorkerStatus::polling);
    std::raise(SIGTERM);
    polling.join();
    for (const Worker& made : workers) EXPECT_EQ(made.status(), WorkerStatus::stopped);
}

TEST_P(SeveralWorkersTest, when_one_cannot_poll_the_others_are_stopped_and_the_error_is_thrown) {
    auto workers = one_for_each([](HandlerContext&) {});
    workers[1].stop();
    EXPECT_EQ(error_of([&] { poll_forever(workers); }).code(), ErrorCode::invalid_transition);
    EXPECT_EQ(workers[0].status(), WorkerStatus::stopped);
}

}  // namespace
}  // namespace pawl::test
