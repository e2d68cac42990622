// Answers in which the stores once differed, found by random operations (tests/twin).
#include <fmt/format.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class SameAnswersTest : public FlowTest {
protected:
    [[nodiscard]] std::string text_of_error(const std::function<void()>& call) const {
        return error_of(call).what();
    }
};
PAWL_FOR_EACH_BACKEND(SameAnswersTest);

TEST_P(SameAnswersTest, a_flow_without_steps_starts_and_ends) {
    store().create_flow("empty");
    const RunInfo run = info(start_flow("1", {}, "empty"));
    EXPECT_EQ(run.status, RunStatus::success);
    EXPECT_EQ(run.started_at, start);
}

TEST_P(SameAnswersTest, a_flow_whose_steps_are_all_skipped_starts_and_ends) {
    FlowStepOptions options;
    options.required_input_pattern = Json{R"({"k":1})"};
    flow("skipping").step("a", {}, options).create(store());
    const RunInfo run = info(start_flow("1", {}, "skipping"));
    EXPECT_EQ(run.status, RunStatus::success);
    EXPECT_EQ(run.started_at, start);
}

TEST_P(SameAnswersTest, a_step_that_never_began_has_no_attempt_in_its_error) {
    FlowStepOptions options;
    options.required_input_pattern = Json{R"({"k":1})"};
    options.when_unmet = WhenUnmet::fail;
    flow("strict").step("a", {}, options).create(store());
    const RunId run = start_flow("1", {}, "strict");
    EXPECT_EQ(
        flat(info(run).error),
        R"({"type":"condition_unmet","message":"the condition of step 'a' is not met","step":"a"})"
    );
}

TEST_P(SameAnswersTest, the_cancellation_of_a_flow_is_nobodys_work) {
    flow("flow").step("a").create(store());
    const WorkerId worker =
        store().backend()->register_worker({"w", "host", 0, 1, 30s, {}, {"flow"}});
    const RunId run = start_flow();
    (void)claim_task("flow", worker);
    store().cancel(run, "enough");
    const auto events = store().events(run);
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().kind, "cancelled");
    EXPECT_EQ(events.back().worker, WorkerId());
}

TEST_P(SameAnswersTest, a_batch_of_triggers_names_the_first_unknown_workflow) {
    flow("maps").map("a").create(store());
    const std::vector<NewRun> runs{{"maps", Json{"1"}}, {"zzz"}, {"aaa"}};
    const std::string text = text_of_error([&] { (void)execute_many(runs, store()); });
    EXPECT_TRUE(contains(text, "workflow 'zzz' does not exist"));
}

TEST_P(SameAnswersTest, the_answer_of_a_step_that_was_not_recorded_cannot_be_rejected) {
    make_workflow();
    const Held held = trigger_and_claim();
    const auto reject = [&] {
        return store().backend()->reject_resume(held.lease(), "a", "not a number", 1h);
    };
    EXPECT_EQ(reject(), seam::Rejection::used);
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
    EXPECT_EQ(reject(), seam::Rejection::lease_lost);
}

TEST_P(SameAnswersTest, a_call_that_cannot_be_made_is_refused_in_the_same_words) {
    make_workflow();
    const Held held = trigger_and_claim();
    Write write = pause_step(held.lease(), "a", 0, 1h);
    write.as<Suspend>().call = NewRun{"nope"};
    const auto outcome = store().backend()->commit(std::span(&write, 1), Attempt::first).front();
    EXPECT_EQ(outcome.status, WriteStatus::rejected);
    EXPECT_EQ(outcome.code, ErrorCode::workflow_not_found);
    EXPECT_EQ(outcome.error, "workflow 'nope' does not exist, or its input or options are invalid");
}

TEST_P(SameAnswersTest, an_old_report_beside_the_new_one_of_an_event_is_refused) {
    store().publish({"type", Json{"1"}, "aggregate"});
    const auto claim = [&] { return store().backend()->claim_outbox(1, 1, 30s).events.at(0); };
    const seam::OutboxDelivery old_one = claim();
    advance(31s);
    const seam::OutboxDelivery new_one = claim();
    using enum seam::OutboxReport::Kind;
    const std::vector<seam::OutboxReport> reports{
        {old_one.event.id, old_one.delivery, published, {}},
        {new_one.event.id, new_one.delivery, retry, "not now", 1h}};
    EXPECT_EQ(
        store().backend()->report_outbox(reports),
        (std::vector{WriteStatus::lease_lost, WriteStatus::done})
    );
    EXPECT_EQ(store().outbox().at(0).status, OutboxStatus::pending);
}

TEST_P(SameAnswersTest, a_run_that_no_task_waits_for_any_more_names_the_task) {
    flow("flow").step("a").create(store());
    make_workflow();
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    EXPECT_EQ(commit(delegate_write(held, NewRun{"job"})), WriteStatus::done);
    store().complete_task(held.ref(), Json{"1"});
    EXPECT_EQ(
        error_in(store().runs({.workflow = "job"}).at(0).error).message,
        fmt::format("task 0 of step 'a' of run {} does not wait for it any more", run.value())
    );
}

TEST_P(SameAnswersTest, the_delay_of_a_first_step_begins_with_the_run) {
    FlowStepOptions options;
    options.start_delay = 5s;
    flow("plain").step("a", {}, options).create(store());
    flow("maps").map("a", {}, options).create(store());
    for (const std::string slug : {"plain", "maps"}) {
        const RunId run = start_flow("[1]", {.at = start - 10s}, slug);
        const auto message = store().queue(slug).get(task(run, "a").message);
        ASSERT_TRUE(message) << slug;
        EXPECT_EQ(message->visible_at, start + 5s) << slug;
    }
}

TEST_P(SameAnswersTest, refused_definitions_of_flows_say_the_same) {
    flow("flow").step("a").create(store());
    make_workflow("job");
    EXPECT_EQ(
        text_of_error([&] { store().create_flow("job"); }),
        "workflow 'job' exists and is not a flow's: choose another name"
    );
    EXPECT_EQ(
        text_of_error([&] { store().create_workflow("flow"); }),
        "'flow' is a flow: create_flow changes its options; only dead_letter_workflow, audit and "
        "publish are set here"
    );
    EXPECT_EQ(
        text_of_error([&] {
            store().add_step("flow", {"a", StepType::map, {"nope"}});
        }),
        "step 'a' of flow 'flow' exists and differs: step_type is single, not map; deps is {}, not "
        "{nope}; a new name is a new version"
    );
    EXPECT_EQ(
        text_of_error([&] { store().ensure_flow({"flow"}); }),
        "flow 'flow' exists and differs: it has 1 steps, not 0; a new name is a new version"
    );
    (void)start_flow();
    EXPECT_EQ(
        text_of_error([&] { store().delete_flow_and_data("flow"); }),
        "flow 'flow' has 1 live runs: cancel them, let them end, or force it"
    );
}

}  // namespace
}  // namespace pawl::test
