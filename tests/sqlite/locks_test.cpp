// One file, several connections and processes.
#include <atomic>
#include <latch>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <sqlite3.h>

#include "support/process.h"
#include "support/store_test.h"

namespace {
std::atomic<int> syncs = 0;
}

// Intercepts SQLite's calls: symbols of the program take precedence over those of the C library.
extern "C" int fdatasync(int file) {
    ++syncs;
    return static_cast<int>(syscall(SYS_fdatasync, file));
}
extern "C" int fsync(int file) {
    ++syncs;
    return static_cast<int>(syscall(SYS_fsync, file));
}

namespace pawl::test {
namespace {

class LocksTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(, LocksTest, ::testing::Values(BackendKind::sqlite), backend_name);

TEST_P(LocksTest, an_empty_claim_takes_no_write_lock) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"}, {.delay = 1h});
    const auto writer = database();
    writer->run("begin immediate");
    EXPECT_TRUE(take(queue, 10).empty()) << "it would wait for the lock, and fail";
    writer->run("rollback");
}

TEST_P(LocksTest, reads_do_not_wait_for_a_writer) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    const auto writer = database();
    writer->run("begin immediate");
    EXPECT_TRUE(queue.find(id));
    EXPECT_EQ(queue.stats().ready, 1);
    EXPECT_EQ(store().queues().size(), 1U);
    writer->run("rollback");
}

TEST_P(LocksTest, a_write_waits_for_another_writer) {
    const Queue queue = make_queue();
    const auto writer = database();
    writer->run("begin immediate");
    std::atomic<bool> enqueued = false;
    std::jthread unlock([&] {
        // The write cannot end before the lock does, independent of thread scheduling.
        for (int i = 0; i < 1000; ++i) {
            EXPECT_FALSE(enqueued);
            std::this_thread::yield();
        }
        writer->run("commit");
    });
    queue.enqueue(Json{"1"});
    enqueued = true;
    EXPECT_EQ(queue.stats().ready, 1);
}

// Another connection tries to write before each statement of the store.
TEST_P(LocksTest, a_users_plain_transaction_is_not_overtaken_by_other_writers) {
    const Queue queue = make_queue();
    store().create_workflow("job");
    const auto other = database();
    other->run("pragma busy_timeout = 0; create table t (n)");
    const auto mine = database();
    const auto meddle = [](unsigned, void* context, void*, void*) {
        try {
            static_cast<Database*>(context)->run("insert into t values (1)");
        } catch (const std::runtime_error&) {  // it is locked
        }
        return 0;
    };
    mine->run("begin");
    sqlite3* const native = mine->transaction().sqlite();
    sqlite3_trace_v2(native, SQLITE_TRACE_STMT, meddle, other.get());
    EXPECT_NO_THROW((void)queue.enqueue_in(native, Json{"1"}));
    EXPECT_NO_THROW((void)workflow("job").trigger().execute_in(native, store()));
    EXPECT_NO_THROW((void)store().publish_in(native, {"paid"}));
    sqlite3_trace_v2(native, 0, nullptr, nullptr);
    mine->run("commit");
    EXPECT_EQ(queue.stats().ready, 1);
    EXPECT_EQ(store().count_runs().queued, 1);
    EXPECT_EQ(store().outbox().size(), 1U);
}

TEST_P(LocksTest, a_lock_held_for_longer_than_the_timeout_is_busy) {
    make_queue();
    auto impatient = options();
    impatient.retry_timeout = 0ms;
    const Store other = connect(place().url() + "?busy_timeout=30", impatient);
    const auto writer = database();
    writer->run("begin immediate");
    const Error error = error_of([&] { other.queue("work").enqueue(Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::busy);
    EXPECT_TRUE(error.retryable());
    EXPECT_FALSE(error.in_doubt());
    writer->run("rollback");
    other.queue("work").enqueue(Json{"1"});
    EXPECT_EQ(other.queue("work").stats().ready, 1);
}

TEST_P(LocksTest, poll_once_retries_while_the_file_is_locked) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3000);
    const Store other = connect(place().url() + "?busy_timeout=1", options());
    const auto writer = database();
    std::latch locked(1);
    const auto handler = [&](const Message& message) {
        if (message.payload.text != "0") return;
        writer->run("begin immediate");
        locked.count_down();
    };
    auto made = worker("w").on_message("work", handler).concurrency(1).create(other);
    const std::jthread unlocks([&] {
        locked.wait();
        EXPECT_TRUE(eventually([&] {
            return log_text().find("database does not answer") != std::string::npos;
        }));
        writer->run("rollback");
    });
    EXPECT_EQ(made.poll_once(), 3000);
    EXPECT_EQ(queue.stats().archived, 3000);
}

TEST_P(LocksTest, processes_under_load_see_no_busy_error) {
    const Queue queue = make_queue();
    const std::string ledger = place().directory().file("ledger");
    std::vector<Process> processes;
    for (int i = 0; i < 2; ++i) {
        processes.push_back(start_helper({"work", place().url(), "work", "2", ledger, "30000"}));
        processes.push_back(start_helper({"enqueue", place().url(), "work", "100"}));
    }
    for (const std::size_t producer : {1U, 3U}) EXPECT_EQ(processes[producer].wait(), 0);
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 200; }));
    for (const std::size_t consumer : {0U, 2U}) {
        EXPECT_EQ(processes[consumer].read_line(), "working");  // it handles signals from there on
        processes[consumer].signal(SIGTERM);
        EXPECT_EQ(processes[consumer].wait(), 0);
    }
}

TEST_P(LocksTest, threads_of_one_process_share_the_writer) {
    const Queue queue = make_queue();
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                for (int k = 0; k < 25; ++k) queue.enqueue(Json{"1"});
            });
        }
    }
    EXPECT_EQ(queue.stats().ready, 200);
}

TEST_P(LocksTest, each_acknowledged_write_is_synchronised_to_the_disk) {
    EXPECT_EQ(database()->value("pragma journal_mode"), "wal");
    const Queue queue = make_queue();
    const int before = syncs;
    for (int i = 0; i < 20; ++i) queue.enqueue(Json{"1"});
    EXPECT_GE(syncs - before, 20);
}

TEST_P(LocksTest, with_synchronous_normal_a_write_does_not_wait_for_the_disk) {
    make_queue();
    const Queue queue = connect(with_parameter(place().url(), "synchronous=normal")).queue("work");
    queue.enqueue(Json{"1"});
    const int before = syncs;
    for (int i = 0; i < 20; ++i) queue.enqueue(Json{"1"});
    EXPECT_EQ(syncs, before);
}

}  // namespace
}  // namespace pawl::test
