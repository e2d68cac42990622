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

TEST_P(SameAnswersTest, the_cancellation_of_a_flow_has_no_worker) {
    flow("flow").step("a").create(store());
    const WorkerId worker =
        detail::Access::backend(store())->register_worker({"w", "host", 0, 1, 30s, {}, {"flow"}});
    const RunId run = start_flow();
    (void)claim_task("flow", worker);
    store().cancel(run, "enough");
    const auto events = store().run(run).events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().kind, "cancelled");
    EXPECT_EQ(events.back().worker, WorkerId());
}

TEST_P(SameAnswersTest, a_batch_of_triggers_names_the_first_unknown_workflow) {
    flow("maps").map("a").create(store());
    const std::vector<NewRun> runs{{"maps", Json{"1"}}, {"zzz"}, {"aaa"}};
    const std::string text = text_of_error([&] { (void)store().trigger(runs); });
    EXPECT_TRUE(contains(text, "workflow 'zzz' does not exist"));
}

TEST_P(SameAnswersTest, the_answer_of_a_step_that_was_not_recorded_cannot_be_rejected) {
    make_workflow();
    const Held held = trigger_and_claim();
    const auto reject = [&] {
        return detail::Access::backend(store())->reject_resume(
            held.lease(), "a", "not a number", 1h
        );
    };
    EXPECT_EQ(reject(), seam::Rejection::used);
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
    EXPECT_EQ(reject(), seam::Rejection::lease_lost);
}

TEST_P(SameAnswersTest, an_invalid_call_is_refused_with_the_same_message) {
    make_workflow();
    const Held held = trigger_and_claim();
    Write write = pause_step(held.lease(), "a", 0, 1h);
    write.as<Suspend>().call = NewRun{"nope"};
    const auto outcome =
        detail::Access::backend(store())->commit(std::span(&write, 1), Attempt::first).front();
    EXPECT_EQ(outcome.status, WriteStatus::rejected);
    EXPECT_EQ(outcome.code, ErrorCode::workflow_not_found);
    EXPECT_EQ(outcome.error, "workflow 'nope' does not exist, or its input or options are invalid");
}

TEST_P(SameAnswersTest, a_call_of_a_flow_whose_input_is_not_its_array_is_refused_with_the_reason) {
    flow("maps").map("a").create(store());
    make_workflow();
    const Held held = trigger_and_claim();
    Write write = pause_step(held.lease(), "a", 0, 1h);
    write.as<Suspend>().call = NewRun{"maps", Json{"1"}};
    const auto outcome =
        detail::Access::backend(store())->commit(std::span(&write, 1), Attempt::first).front();
    EXPECT_EQ(outcome.status, WriteStatus::rejected);
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
    EXPECT_EQ(
        outcome.error,
        "the input of flow 'maps' must be a JSON array: its map step 'a' has one task per element"
    );
}

TEST_P(SameAnswersTest, an_old_report_in_a_batch_with_the_new_one_is_refused) {
    store().publish({"type", Json{"1"}, "aggregate"});
    const auto claim = [&] {
        return detail::Access::backend(store())->claim_outbox(1, 1, 30s).events.at(0);
    };
    const seam::OutboxDelivery old_one = claim();
    advance(31s);
    const seam::OutboxDelivery new_one = claim();
    using enum seam::OutboxReport::Kind;
    const std::vector<seam::OutboxReport> reports{
        {old_one.event.id, old_one.delivery, published, {}},
        {new_one.event.id, new_one.delivery, retry, "not now", 1h}};
    EXPECT_EQ(
        detail::Access::backend(store())->report_outbox(reports),
        (std::vector{WriteStatus::lease_lost, WriteStatus::done})
    );
    EXPECT_EQ(store().outbox().at(0).status, OutboxStatus::pending);
}

TEST_P(SameAnswersTest, a_called_run_that_is_no_longer_needed_names_the_task) {
    flow("flow").step("a").create(store());
    make_workflow();
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    EXPECT_EQ(commit(delegate_write(held, NewRun{"job"})), WriteStatus::done);
    store().complete_task(held.ref(), Json{"1"});
    EXPECT_EQ(
        error_in(store().runs({.workflow = "job"}).at(0).error).message,
        fmt::format("task 0 of step 'a' of run {} no longer waits for this run", run.value())
    );
}

TEST_P(SameAnswersTest, a_run_called_by_a_task_of_a_skipped_step_names_the_task) {
    FlowStepOptions options;
    options.max_attempts = 1;
    options.when_exhausted = WhenExhausted::skip;
    flow("maps").map("a", {}, options).create(store());
    make_workflow();
    const RunId run = start_flow("[1,2]", {}, "maps");
    const HeldTask first = claim_task("maps");
    const HeldTask second = claim_task("maps");
    EXPECT_EQ(commit(delegate_write(second, NewRun{"job"})), WriteStatus::done);
    store().fail_task(first.ref(), "broken");
    EXPECT_EQ(
        error_in(store().runs({.workflow = "job"}).at(0).error).message,
        fmt::format("task 1 of step 'a' of run {} no longer waits for this run", run.value())
    );
}

TEST_P(SameAnswersTest, the_delay_of_a_first_step_begins_with_the_run) {
    FlowStepOptions options;
    options.start_delay = 5s;
    flow("plain").step("a", {}, options).create(store());
    flow("maps").map("a", {}, options).create(store());
    for (const std::string slug : {"plain", "maps"}) {
        const RunId run = start_flow("[1]", {.at = start - 10s}, slug);
        const auto message = store().queue(slug).find(task(run, "a").message);
        ASSERT_TRUE(message) << slug;
        EXPECT_EQ(message->visible_at, start + 5s) << slug;
    }
}

TEST_P(SameAnswersTest, refused_definitions_of_flows_have_the_same_messages) {
    flow("flow").step("a").create(store());
    make_workflow("job");
    EXPECT_EQ(
        text_of_error([&] { store().create_flow("job"); }),
        "workflow 'job' exists and is not a flow; choose another name"
    );
    EXPECT_EQ(
        text_of_error([&] { store().create_workflow("flow"); }),
        "'flow' is a flow; change its options with create_flow(), except dead_letter_workflow, "
        "audit and publish"
    );
    EXPECT_EQ(
        text_of_error([&] {
            store().add_step("flow", {"a", StepType::map, {"nope"}});
        }),
        "step 'a' of flow 'flow' exists and differs: step_type is single in the store, map in the "
        "declaration; deps is {} in the store, {nope} in the declaration; use a new name for a new "
        "version"
    );
    EXPECT_EQ(
        text_of_error([&] { store().ensure_flow({"flow"}); }),
        "flow 'flow' exists and differs: it has 1 steps in the store, 0 in the declaration; use a "
        "new name for a new version"
    );
    (void)start_flow();
    EXPECT_EQ(
        text_of_error([&] { store().delete_flow_and_data("flow"); }),
        "flow 'flow' has 1 live runs; cancel them, wait until they end, or force the deletion"
    );
}

TEST_P(SameAnswersTest, every_refused_operation_of_a_workflows_queue_says_what_to_use_instead) {
    make_workflow("job");
    const Queue queue = store().queue("job");
    const std::string expected =
        "queue 'job' belongs to a workflow; use the workflow's operations (create, trigger, "
        "cancel, delete) instead";
    EXPECT_EQ(text_of_error([&] { (void)queue.enqueue(Json{"1"}); }), expected);
    EXPECT_EQ(text_of_error([&] { (void)queue.purge(); }), expected);
    EXPECT_EQ(text_of_error([&] { store().create_queue("job"); }), expected);
    EXPECT_EQ(text_of_error([&] { store().delete_queue("job"); }), expected);
}

TEST_P(SameAnswersTest, a_workflow_in_code_is_refused_as_a_flow_with_how_to_start_it) {
    make_workflow("job");
    const std::string expected =
        "flow 'job' does not exist; create it with store.create_flow(\"job\"), or use trigger() if "
        "it is a "
        "workflow in code";
    EXPECT_EQ(text_of_error([&] { store().delete_flow_and_data("job"); }), expected);
}

TEST_P(SameAnswersTest, invalid_json_is_refused_with_its_place_and_without_its_content) {
    store().create_queue("plain");
    const auto refusal = [&](const std::string& json) {
        return text_of_error([&] { (void)store().queue("plain").enqueue(Json{json}); });
    };
    EXPECT_EQ(
        refusal("{\"a\": }"),
        "not valid JSON: line 1, column 7: unexpected '}'; expected '[', '{', or a literal"
    );
    EXPECT_EQ(
        refusal("\"secret"),
        "not valid JSON: line 1, column 8: invalid string: missing closing quote"
    );
    EXPECT_EQ(refusal("1e999"), "not valid JSON: a number is out of range");
    EXPECT_EQ(
        refusal("[1]\n]"), "not valid JSON: line 2, column 1: unexpected ']'; expected end of input"
    );
}

}  // namespace
}  // namespace pawl::test
