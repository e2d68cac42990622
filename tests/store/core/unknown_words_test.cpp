// Names in the database that this version does not know: an error, never a guess.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class UnknownWordsTest : public WorkflowTest {
protected:
    // As a newer version of pawl, or a user, could have written it.
    void write_odd(Word word, RunId run = {}) const { kit().write(word, "ODD", run); }
    template <class Call>
    void expect_unknown(const std::string& what, Call call) const {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::database_error) << error.what();
        EXPECT_TRUE(contains(error.what(), "unknown " + what + " 'ODD'")) << error.what();
        EXPECT_FALSE(error.retryable());
    }
};
PAWL_FOR_EACH_BACKEND(UnknownWordsTest);

TEST_P(UnknownWordsTest, an_unknown_status_of_a_run_or_a_step_is_an_error) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "a", 1));
    write_odd(Word::step_status);
    expect_unknown("step status", [&] { (void)store().run(held.id()).steps(); });
    write_odd(Word::run_status);
    expect_unknown("run status", [&] { (void)store().run(held.id()).info(); });
    expect_unknown("run status", [&] { (void)store().runs(); });
    expect_unknown("run status", [&] { (void)store().run(held.id()).wait_json(0s); });
}

TEST_P(UnknownWordsTest, an_unknown_state_or_status_elsewhere_is_an_error) {
    const Queue queue = make_queue();
    const MessageId message = queue.enqueue(Json{"1"}, {.delay = 1h});
    write_odd(Word::message_state);
    expect_unknown("message state", [&] { (void)queue.find(message); });
    store().publish({.type = "t", .payload = Json{"1"}, .aggregate = "a"});
    write_odd(Word::outbox_status);
    expect_unknown("outbox status", [&] { (void)store().outbox(); });
    const auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    write_odd(Word::worker_status);
    expect_unknown("worker status", [&] { (void)store().workers(); });
    make_workflow();
    write_odd(Word::audit_level);
    expect_unknown("audit level", [&] { (void)store().workflows(); });
}

TEST_P(UnknownWordsTest, a_run_whose_steps_cannot_be_read_does_not_harm_the_others_of_a_claim) {
    freeze();
    make_workflow();
    const Held odd = trigger_and_claim();
    commit(checkpoint(odd.lease(), "a", 1));
    const Held good = trigger_and_claim();
    commit(checkpoint(good.lease(), "a", 1));
    write_odd(Word::step_status, odd.id());
    advance(1h);  // both leases have ended
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ++calls;
        ctx.step("a", [] {});
    });
    EXPECT_EQ(made.poll_once(), 2);
    EXPECT_EQ(status(good.id()), RunStatus::success);
    EXPECT_EQ(status(odd.id()), RunStatus::running);
    EXPECT_EQ(calls, 1) << "nothing is executed on a guess";
    EXPECT_TRUE(contains(log_text(), "unknown step status 'ODD'"));
}

}  // namespace
}  // namespace pawl::test
