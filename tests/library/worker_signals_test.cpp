// SIGTERM and SIGINT around a worker that handles them.
#include <csignal>

#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class WorkerSignalsTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND(WorkerSignalsTest);

void own_handler(int) {}

TEST_P(WorkerSignalsTest, after_its_end_they_work_as_before) {
    make_queue();
    const auto before = std::signal(SIGTERM, own_handler);
    {
        auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
        auto other = worker("v").on_message("work", [](const Message&) {}).create(store());
        made.handle_signals();
        other.handle_signals();
        struct sigaction current {};
        sigaction(SIGTERM, nullptr, &current);
        EXPECT_NE(current.sa_handler, own_handler);
        std::raise(SIGTERM);
        made.poll_forever();
        sigaction(SIGTERM, nullptr, &current);
        EXPECT_NE(current.sa_handler, own_handler) << "another worker has yet to drain";
        other.poll_forever();
        sigaction(SIGTERM, nullptr, &current);
        EXPECT_EQ(current.sa_handler, own_handler);
        EXPECT_TRUE(contains(log_text(), "signal received, draining"));
    }
    std::signal(SIGTERM, before);
}

TEST_P(WorkerSignalsTest, a_second_signal_ends_the_process_now) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"\"hang\""});
    auto helper = start_helper(
        {"work", place().url(), "work", "2", place().directory().file("ledger"), "30000"}
    );
    EXPECT_EQ(helper.read_line(), "working");
    EXPECT_TRUE(contains(helper.read_line(), "hanging"));
    helper.signal(SIGTERM);
    // It drains for ten seconds, and then waits for the handler without a limit.
    EXPECT_TRUE(eventually([&] {
        helper.signal(SIGINT);
        int code = 0;
        return helper.ended(code) && code < 0;
    }));
}

}  // namespace
}  // namespace pawl::test
