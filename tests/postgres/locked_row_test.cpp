// Rows that another session has locked: which calls wait for them, and which skip them.
#include <future>

#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

using seam::Archive;
using seam::Attempt;
using seam::Extend;
using seam::Write;
using seam::WriteStatus;

class LockedRowTest : public StoreTest {
protected:
    std::vector<Message> held(int count) const {
        const Queue queue = make_queue();
        enqueue_many(queue, count);
        return take(queue, count);
    }
    // A session whose transaction holds the row of a message.
    std::unique_ptr<Database> lock(MessageId id) const {
        auto session = database();
        session->begin();
        session->run(
            "select 1 from " + place().table("messages") +
            " where message_id = " + std::to_string(id.value()) + " for update"
        );
        return session;
    }
};
INSTANTIATE_TEST_SUITE_P(, LockedRowTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(LockedRowTest, a_row_locked_by_another_session_is_busy_and_the_others_are_done) {
    const auto messages = held(3);
    const auto other = lock(messages[1].id);
    std::vector<Write> writes;
    for (const Message& message : messages) writes.push_back({message.lease(), Archive{}});
    auto outcomes = detail::Access::backend(store())->commit(writes, Attempt::first);
    EXPECT_EQ(outcomes[0].status, WriteStatus::done);
    EXPECT_EQ(outcomes[1].status, WriteStatus::busy);
    EXPECT_EQ(outcomes[2].status, WriteStatus::done);
    other->run("rollback");
    outcomes = detail::Access::backend(store())->commit(std::span(&writes[1], 1), Attempt::first);
    EXPECT_EQ(outcomes[0].status, WriteStatus::done);
}

TEST_P(LockedRowTest, archive_waits_for_a_locked_row) {
    const auto messages = held(1);
    const auto other = lock(messages[0].id);
    auto archived =
        std::async(std::launch::async, [&] { return store().queue("work").archive(messages[0]); });
    EXPECT_TRUE(eventually([&] {
        return contains(log_text(), "messages are locked by another transaction").operator bool();
    }));
    other->run("rollback");
    EXPECT_EQ(archived.get(), Outcome::done);
}

TEST_P(LockedRowTest, a_claim_passes_over_locked_rows) {
    const Queue queue = make_queue();
    const auto all = enqueue_many(queue, 3);
    const auto other = lock(all[0]);
    EXPECT_EQ(ids(take(queue, 10)), (std::vector{all[1], all[2]}));
    other->run("rollback");
    EXPECT_EQ(ids(take(queue, 10)), std::vector{all[0]});
}

TEST_P(LockedRowTest, a_heartbeat_does_not_wait_for_a_locked_row) {
    const auto messages = held(1);
    const auto other = lock(messages[0].id);
    const Write extension{messages[0].lease(), Extend{30s}};
    const auto result = detail::Access::backend(store())->heartbeat({}, std::span(&extension, 1));
    EXPECT_EQ(result.outcomes.front().status, WriteStatus::busy);
    other->run("rollback");
}

}  // namespace
}  // namespace pawl::test
