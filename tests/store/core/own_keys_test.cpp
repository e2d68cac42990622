// Runs that pawl creates by itself do not share the keys of users: no producer can take their
// place.
#include <fmt/format.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class OwnKeysTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        make_workflow();
        make_workflow("child");
    }
    // A producer's run that already has the key.
    [[nodiscard]] RunId take_place(const std::string& workflow, const std::string& key) const {
        return trigger(workflow, Json{"666"}, {.idempotency_key = key});
    }
    [[nodiscard]] Write call_write(const Lease& lease, RunId parent) const {
        Write write = pause_step(lease, "c", 1, std::chrono::hours(24 * 36'525));
        NewRun called{"child", Json{"1"}, {}};
        called.options.parent = parent;
        write.as<Suspend>().call = called;
        return write;
    }
    [[nodiscard]] std::vector<RunInfo> children() const {
        return store().runs({.workflow = "child"});
    }
    [[nodiscard]] bool fire(Timestamp at) const {
        const auto due = detail::Access::backend(store())->due_schedules(1).due.at(0);
        seam::ScheduleFire fire{due.id, due.version, {}, at + 24h};
        NewRun run{"job", Json{"null"}, {}};
        run.options.idempotency_key = key_of(at);
        run.options.tags = {"schedule:nightly"};
        fire.runs.push_back({at, run});
        return detail::Access::backend(store())->fire_schedule(fire);
    }
    static std::string key_of(Timestamp at) {
        const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(at));
        return fmt::format(
            "schedule:nightly:{:04}-{:02}-{:02}T00:00:00Z",
            static_cast<int>(day.year()),
            static_cast<unsigned>(day.month()),
            static_cast<unsigned>(day.day())
        );
    }
};
PAWL_FOR_EACH_BACKEND(OwnKeysTest);

TEST_P(OwnKeysTest, a_producer_cannot_take_the_place_of_a_called_run) {
    const Held held = trigger_and_claim();
    const RunId strange = take_place("child", fmt::format("call:{}:c", held.id().value()));
    EXPECT_EQ(commit(call_write(held.lease(), held.id())), WriteStatus::done);
    ASSERT_EQ(children().size(), 2U);
    EXPECT_EQ(children()[0].parent, held.id());
    EXPECT_EQ(store().run(strange).info().parent, RunId());
}

TEST_P(OwnKeysTest, a_repeated_call_waits_for_its_existing_run) {
    Held held = trigger_and_claim();
    EXPECT_EQ(commit(call_write(held.lease(), held.id())), WriteStatus::done);
    store().wake(held.id());
    held = claim_one();
    EXPECT_EQ(commit(call_write(held.lease(), held.id())), WriteStatus::done);
    EXPECT_EQ(children().size(), 1U);
    EXPECT_EQ(commit(success(claim_one("child").lease(), "7")), WriteStatus::done);
    EXPECT_EQ(step(held.id(), "c").output, Json{"7"});
}

// Earlier versions gave called runs idempotency keys.
TEST_P(OwnKeysTest, a_call_of_an_earlier_version_continues) {
    Held held = trigger_and_claim();
    EXPECT_EQ(commit(call_write(held.lease(), held.id())), WriteStatus::done);
    kit().write_key(children()[0].id, fmt::format("call:{}:c", held.id().value()));
    store().wake(held.id());
    held = claim_one();
    EXPECT_EQ(commit(call_write(held.lease(), held.id())), WriteStatus::done);
    EXPECT_EQ(children().size(), 1U);
}

TEST_P(OwnKeysTest, a_producer_cannot_take_the_place_of_a_fire_time) {
    store().create_schedule("nightly", "job", "0 0 * * *");
    const RunId strange = take_place("job", key_of(start + 24h));
    advance(24h);
    EXPECT_TRUE(fire(start + 24h));
    const auto runs = store().runs({.workflow = "job"});
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_NE(runs[0].id, strange);
    EXPECT_EQ(runs[0].input, Json{"null"}) << "the schedule's own";
    EXPECT_EQ(runs[0].idempotency_key, key_of(start + 24h)) << "it is shown all the same";
}

TEST_P(OwnKeysTest, a_fire_time_fires_once_even_if_its_schedule_is_created_again) {
    store().create_schedule("nightly", "job", "0 0 * * *");
    advance(24h);
    EXPECT_TRUE(fire(start + 24h));
    store().delete_schedule("nightly");
    store().create_schedule("nightly", "job", "0 0 * * *");
    advance(24h);
    EXPECT_TRUE(fire(start + 24h));
    EXPECT_EQ(store().runs({.workflow = "job"}).size(), 1U);
    EXPECT_TRUE(fire(start + 48h));
    EXPECT_EQ(store().runs({.workflow = "job"}).size(), 2U);
}

TEST_P(OwnKeysTest, a_producer_cannot_take_the_place_of_a_dead_letter) {
    make_workflow("graves");
    make_workflow("job", {.dead_letter_workflow = "graves"});
    const Held held = trigger_and_claim();
    (void)take_place("graves", fmt::format("dead_letter:{}", held.id().value()));
    EXPECT_EQ(commit(failure(held.lease())), WriteStatus::done);
    EXPECT_EQ(store().runs({.workflow = "graves"}).size(), 2U);
}

}  // namespace
}  // namespace pawl::test
