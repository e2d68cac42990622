// Several processes on one store, and the crash of one.
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class ProcessesTest : public StoreTest {
protected:
    std::string ledger() const { return place().directory().file("ledger"); }
    Process start_worker(int threads, int lease_ms = 30'000) const {
        Process process = start_helper(
            {"work",
             place().url(),
             "work",
             std::to_string(threads),
             ledger(),
             std::to_string(lease_ms)}
        );
        EXPECT_EQ(process.read_line(), "working");
        return process;
    }
    // The number of times that each message was handled.
    std::map<long, int> handled() const {
        std::map<long, int> counts;
        std::ifstream file(ledger());
        long id = 0;
        int delivery = 0;
        while (file >> id >> delivery) ++counts[id];
        return counts;
    }
    bool archived(const Queue& queue, std::int64_t count) const {
        return eventually(
            [&] { return queue.stats().archived == count; }, std::chrono::seconds(50)
        );
    }
};
PAWL_FOR_EACH_BACKEND(ProcessesTest);

TEST_P(ProcessesTest, two_workers_share_a_queue_and_each_message_is_done_once) {
    const Queue queue = make_queue();
    Process first = start_worker(2);
    Process second = start_worker(2);
    enqueue_many(queue, 500);
    EXPECT_TRUE(archived(queue, 500));
    for (Process* process : {&first, &second}) {
        process->signal(SIGTERM);
        EXPECT_EQ(process->wait(), 0) << "a signal ends it with a drain";
    }
    const auto counts = handled();
    EXPECT_EQ(counts.size(), 500U);
    for (const auto& [id, count] : counts) EXPECT_EQ(count, 1) << id;
    for (const WorkerInfo& info : store().workers()) EXPECT_EQ(info.status, WorkerStatus::stopped);
}

TEST_P(ProcessesTest, producers_in_several_processes_lose_nothing) {
    const Queue queue = make_queue();
    std::vector<Process> producers;
    for (int i = 0; i < 3; ++i)
        producers.push_back(start_helper({"enqueue", place().url(), "work", "40"}));
    for (Process& producer : producers) EXPECT_EQ(producer.wait(), 0);
    EXPECT_EQ(queue.stats().ready, 120);
}

TEST_P(ProcessesTest, messages_of_a_killed_holder_come_back_when_the_lease_ends) {
    const Queue queue = make_queue();
    enqueue_many(queue, 5);
    Process holder = start_helper({"hold", place().url(), "work", "5", "500"});
    ASSERT_EQ(holder.read_line(), "held");
    holder.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), -SIGKILL);
    // Their leases end one after the other.
    std::set<MessageId> again;
    while (again.size() < 5) {
        const auto messages = queue.dequeue({.max_messages = 5, .wait = 40s});
        ASSERT_FALSE(messages.empty());
        for (const Message& message : messages) {
            EXPECT_EQ(message.delivery, 2);
            again.insert(message.id);
        }
    }
}

TEST_P(ProcessesTest, others_finish_the_work_of_a_killed_worker) {
    const Queue queue = make_queue();
    const MessageId hang = queue.enqueue(Json{"\"hang\""});
    Process doomed = start_worker(1, 500);
    EXPECT_EQ(doomed.read_line(), "hanging " + std::to_string(hang.value()));
    enqueue_many(queue, 30);
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
    std::atomic<int> redelivered = 0;
    auto rescuer = worker("rescuer")
                       .on_message(
                           "work",
                           [&](const Message& message) {
                               if (message.id == hang) redelivered = message.delivery;
                           }
                       )
                       .create(store());
    rescuer.start();
    EXPECT_TRUE(archived(queue, 31));
    EXPECT_EQ(redelivered, 2);
}

TEST_P(ProcessesTest, a_message_that_kills_its_worker_ends_as_a_dead_letter_and_the_rest_is_done) {
    const Queue queue = make_queue("work", {.max_strikes = 3});
    const MessageId poison = queue.enqueue(Json{"\"crash\""});
    enqueue_many(queue, 20);
    for (int strike = 1; strike <= 3; ++strike) EXPECT_EQ(start_worker(2, 200).wait(), -SIGABRT);
    Process survivor = start_worker(2, 200);
    EXPECT_TRUE(archived(queue, 20));
    ASSERT_TRUE(eventually([&] { return queue.stats().dead == 1; }));
    EXPECT_EQ(queue.archived(ArchiveFilter::dead)[0].id, poison);
}

}  // namespace
}  // namespace pawl::test
