// Dispatchers in separate processes that crash between sending and reporting.
#include <csignal>
#include <fstream>
#include <set>

#include "crash/crashed.h"
#include "crash/sessions.h"
#include "support/outbox_test.h"
#include "support/process.h"

namespace pawl::test {
namespace {

class OutboxCrashTest : public OutboxStoreTest {
protected:
    [[nodiscard]] Process start_process(const std::string& mode, int fail_point = 0) const {
        return Process(
            {PAWL_OUTBOX_CRASH_WORKER,
             mode,
             doomed_url(place()),
             ledger(),
             "60000",
             std::to_string(fail_point)}
        );
    }
    void end_leases_of_dead() const {
        ASSERT_TRUE(sessions_have_ended(place(), *database()));
        advance(60s);
    }
    [[nodiscard]] std::string ledger() const { return place().directory().file("ledger"); }
    struct Sent {
        std::string event_id;
        std::string type;
    };
    [[nodiscard]] std::vector<Sent> sent() const {
        std::vector<Sent> all;
        std::ifstream file(ledger());
        Sent one;
        while (file >> one.event_id >> one.type) all.push_back(one);
        return all;
    }
    // Ordered by the first time each was sent.
    [[nodiscard]] std::string first_times(const std::string& aggregate) const {
        std::set<std::string> seen;
        std::string types;
        for (const Sent& one : sent()) {
            if (!one.type.starts_with(aggregate + "-") || !seen.insert(one.type).second) continue;
            types += (types.empty() ? "" : " ") + one.type;
        }
        return types;
    }
};
PAWL_FOR_EACH_BACKEND(OutboxCrashTest);

TEST_P(OutboxCrashTest, killed_between_send_and_report_the_event_is_sent_again_with_its_id) {
    publish("a", 2);
    Process doomed = start_process("hang");
    ASSERT_EQ(doomed.read_line(), "sent");
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
    EXPECT_EQ(event("a-1").status, OutboxStatus::pending);
    EXPECT_EQ(start_process("once").wait(), 0);
    EXPECT_EQ(sent().size(), 1U) << "the lease of the dead one holds still";
    end_leases_of_dead();
    EXPECT_EQ(start_process("once").wait(), 0);
    const auto all = sent();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].type, "a-1");
    EXPECT_EQ(all[1].type, "a-1");
    EXPECT_EQ(all[1].event_id, all[0].event_id);
    EXPECT_EQ(all[0].event_id, event("a-1").event_id);
    EXPECT_EQ(all[2].type, "a-2");
    EXPECT_EQ(listed({.status = OutboxStatus::published}), "a-1 a-2");
}

TEST_P(OutboxCrashTest, a_death_at_any_storage_call_loses_no_event_and_no_order) {
    int crashes = 0;
    for (int point = 1; point < 200; ++point) {
        const std::string one = "p" + std::to_string(point);
        const std::string other = "q" + std::to_string(point);
        publish(one, 3);
        publish(other, 2);
        const int code = start_process("once", point).wait();
        if (code != 0) {
            ASSERT_EQ(code, crashed);
            ++crashes;
            end_leases_of_dead();
            ASSERT_EQ(start_process("once").wait(), 0);
        }
        EXPECT_EQ(listed({.status = OutboxStatus::pending}), "");
        EXPECT_EQ(first_times(one), fmt::format("{0}-1 {0}-2 {0}-3", one));
        EXPECT_EQ(first_times(other), fmt::format("{0}-1 {0}-2", other));
        ASSERT_FALSE(HasFailure()) << "after fail point " << point;
        if (code == 0) break;
    }
    EXPECT_GE(crashes, 6) << "else the fail points are not where they should be";
    EXPECT_LT(crashes, 199) << "the loop ends when no fail point is left";
    RecordProperty("fail_points", crashes);
}

TEST_P(OutboxCrashTest, processes_that_race_send_each_event_once) {
    std::vector<Process> racing;
    for (int i = 0; i < 3; ++i) racing.push_back(start_process("run"));
    for (Process& process : racing) ASSERT_EQ(process.read_line(), "running");
    for (int i = 0; i < 10; ++i) publish("a" + std::to_string(i), 5);
    EXPECT_TRUE(eventually([&] { return listed({.status = OutboxStatus::pending}).empty(); }));
    EXPECT_EQ(sent().size(), 50U);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(
            first_times("a" + std::to_string(i)),
            fmt::format("a{0}-1 a{0}-2 a{0}-3 a{0}-4 a{0}-5", i)
        );
}

// The clock is stopped, so no lease expires: each claim must follow a report or a wake-up.
TEST_P(OutboxCrashTest, processes_that_race_for_one_long_line_send_it_in_order_without_a_pause) {
    constexpr int length = 1000;
    publish_together("a", length);
    std::vector<Process> racing;
    for (int i = 0; i < 3; ++i) racing.push_back(start_process("run"));
    EXPECT_TRUE(eventually([&] { return listed({.status = OutboxStatus::pending}).empty(); }));
    EXPECT_EQ(sent().size(), static_cast<std::size_t>(length));
    EXPECT_EQ(first_times("a"), in_order("a", length));
}

}  // namespace
}  // namespace pawl::test
