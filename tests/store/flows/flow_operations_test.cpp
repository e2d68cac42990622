// Flows with schedules, the outbox, and the settings that they share with workflows.
#include <fmt/format.h>

#include "runtime/services/scheduler.h"
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowOperationsTest : public FlowTest {
protected:
    [[nodiscard]] std::string published(RunId run) const {
        std::string types;
        for (const OutboxEvent& event : store().outbox({.run = run}))
            types += (types.empty() ? "" : ", ") + event.type;
        return types;
    }
};
PAWL_FOR_EACH_BACKEND(FlowOperationsTest);

TEST_P(FlowOperationsTest, options_common_to_all_runs_are_set_as_for_a_workflow) {
    store().create_workflow("rescue");
    flow("flow").max_attempts(1).step("a").create(store());
    store().create_workflow("flow", {.dead_letter_workflow = "rescue", .audit = AuditLevel::off});
    const WorkflowInfo info = store().workflow_info("flow");
    EXPECT_TRUE(info.is_flow);
    EXPECT_EQ(info.audit, AuditLevel::off);
    EXPECT_EQ(info.max_attempts, 1);
    const RunId run = start_flow();
    EXPECT_EQ(fail(poll_step("a")), TaskOutcome::done);
    EXPECT_TRUE(store().run(run).events().empty());
    EXPECT_EQ(store().count_runs({.workflow = "rescue"}).queued, 1);
}

TEST_P(FlowOperationsTest, the_rest_belongs_to_create_flow) {
    flow("flow").step("a").create(store());
    for (const WorkflowOptions& options :
         {WorkflowOptions{},
          WorkflowOptions{.max_attempts = 2},
          WorkflowOptions{.lease = 5s, .audit = AuditLevel::all}})
        EXPECT_EQ(
            error_of([&] { store().create_workflow("flow", options); }).code(),
            ErrorCode::invalid_argument
        );
}

TEST_P(FlowOperationsTest, ends_are_published) {
    flow("flow").max_attempts(1).step("a").create(store());
    store().create_workflow("flow", {.publish = PublishLevel::ends});
    const RunId good = start_flow();
    work_step("a", "7");
    EXPECT_EQ(published(good), "run.succeeded");
    EXPECT_EQ(
        flat(store().outbox({.run = good}).front().payload),
        fmt::format(
            R"({{"run_id":{},"workflow":"flow","status":"SUCCESS","output":{{"a":7}}}})",
            good.value()
        )
    );
    const RunId bad = start_flow();
    EXPECT_EQ(fail(poll_step("a")), TaskOutcome::done);
    EXPECT_EQ(published(bad), "run.failed");
    const RunId ended = start_flow();
    store().cancel(ended, "enough");
    EXPECT_EQ(published(ended), "run.cancelled");
}

TEST_P(FlowOperationsTest, a_flow_without_handlers_and_its_dead_letter_are_alerts) {
    store().create_workflow("rescue");
    flow("flow").step("a").create(store());
    store().create_workflow(
        "flow", {.dead_letter_workflow = "rescue", .publish = PublishLevel::alerts}
    );
    const RunId run = start_flow();
    const std::vector<std::string> prefixes{"fl"};
    EXPECT_EQ(detail::Access::backend(store())->fail_unhandled(prefixes), std::vector<RunId>{run});
    EXPECT_EQ(published(run), "run.no_handler_registered, run.dead_lettered");
    EXPECT_EQ(event_kinds(run), "no_handler_registered");
}

TEST_P(FlowOperationsTest, a_chain_of_dead_letter_flows_that_fail_on_the_spot_ends) {
    for (const char* name : {"third", "second", "flow"}) {
        flow(name)
            .step(
                "a",
                {},
                {.required_input_pattern = Json{R"({"never":1})"}, .when_unmet = WhenUnmet::fail}
            )
            .create(store());
    }
    store().create_workflow("second", {.dead_letter_workflow = "third"});
    store().create_workflow("flow", {.dead_letter_workflow = "second"});
    const RunId run = start_flow();
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(store().count_runs({.workflow = "second"}).error, 1);
    EXPECT_EQ(store().count_runs({.workflow = "third"}).error, 1);
    EXPECT_EQ(count(Rows::runs), 3);
}

TEST_P(FlowOperationsTest, a_schedule_starts_a_flow) {
    flow("flow").step("a").create(store());
    store().create_schedule("s", "flow", "@hourly", Json{"7"});
    testing::advance_clock(store(), std::chrono::hours(1));
    runtime::Scheduler(*detail::Access::backend(store())).fire_due();
    EXPECT_EQ(poll_step("a").input, Json{R"({"run":7})"});
}

}  // namespace
}  // namespace pawl::test
