// Definitions of flows: created, extended, compared, protected, deleted.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowDefinitionTest : public FlowTest {
protected:
    void expect_refused(const std::function<void()>& call, ErrorCode code, const std::string& why)
        const {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), code);
        EXPECT_TRUE(contains(error.what(), why));
    }
    void refused_step(const FlowStep& step, const std::string& why) const {
        expect_refused([&] { store().add_step("flow", step); }, ErrorCode::invalid_argument, why);
    }
    std::vector<std::string> slugs(const std::string& flow = "flow") const {
        std::vector<std::string> found;
        for (const FlowStep& step : store().flow_shape(flow).steps) found.push_back(step.slug);
        return found;
    }
};
PAWL_FOR_EACH_BACKEND(FlowDefinitionTest);

TEST_P(FlowDefinitionTest, a_flow_has_defaults_and_a_queue) {
    store().create_flow("flow");
    const FlowShape shape = store().flow_shape("flow");
    EXPECT_EQ(shape.slug, "flow");
    EXPECT_EQ(shape.options.max_attempts, 3);
    EXPECT_EQ(shape.options.backoff_base, 5s);
    EXPECT_EQ(shape.options.task_timeout, 60s);
    EXPECT_TRUE(shape.steps.empty());
    const WorkflowInfo info = store().workflow_info("flow");
    EXPECT_TRUE(info.is_flow);
    EXPECT_EQ(info.task_timeout, 60s);
    EXPECT_EQ(info.max_attempts, 3);
    EXPECT_EQ(store().queue("flow").info().id, info.queue);
    make_workflow("job");
    EXPECT_FALSE(store().workflow_info("job").is_flow);
}

TEST_P(FlowDefinitionTest, making_it_again_changes_only_what_is_given) {
    store().create_flow("flow", {7, 1s, 30s});
    store().create_flow("flow");
    EXPECT_EQ(store().flow_shape("flow").options.max_attempts, 7);
    EXPECT_EQ(store().flow_shape("flow").options.backoff_base, 1s);
    EXPECT_EQ(store().flow_shape("flow").options.task_timeout, 30s);
    store().create_flow("flow", {.backoff_base = 250ms});
    EXPECT_EQ(store().flow_shape("flow").options.backoff_base, 250ms);
    EXPECT_EQ(store().flow_shape("flow").options.max_attempts, 7);
    store().create_flow("flow", {.task_timeout = 0s});
    EXPECT_EQ(store().flow_shape("flow").options.task_timeout.value_or(0s), 0s) << "none";
    EXPECT_FALSE(store().workflow_info("flow").task_timeout);
    EXPECT_EQ(store().queues().size(), 1U);
}

TEST_P(FlowDefinitionTest, bad_values_of_a_flow_are_refused_and_named) {
    const auto refused = [&](const std::string& slug, const FlowOptions& options, auto why) {
        expect_refused(
            [&] { store().create_flow(slug, options); }, ErrorCode::invalid_argument, why
        );
    };
    refused("9lives", {}, "invalid flow slug '9lives'");
    refused("", {}, "invalid flow slug ''");
    refused("a-b", {}, "invalid flow slug 'a-b'");
    refused(std::string(129, 'x'), {}, "128");
    refused("run", {}, "'run'");
    refused("flow", {.max_attempts = -1}, "max_attempts must be 0 (no retry) to 1000000");
    refused("flow", {.backoff_base = -1ms}, "base_delay");
    refused("flow", {.task_timeout = -1ms}, "timeout");
    EXPECT_TRUE(store().workflows().empty());
    EXPECT_NO_THROW(store().create_flow(std::string(128, 'x')));
}

TEST_P(FlowDefinitionTest, no_attempts_mean_no_retry) {
    const Flow once = flow("flow").max_attempts(0).step("a").step("b", {}, {.max_attempts = 0});
    EXPECT_EQ(store().ensure_flow(once.shape()), EnsuredFlow::created);
    EXPECT_EQ(store().ensure_flow(once.shape()), EnsuredFlow::same);
    store().create_flow("flow", {.max_attempts = 0});
    store().add_step("flow", {"b", {}, {}, {.max_attempts = 0}});
    for (const std::string step : {"a", "b"}) {
        const RunId run = start_flow();
        for (const Task& task : poll()) {
            if (task.task.step == step) {
                EXPECT_EQ(fail(task), TaskOutcome::done);
            }
        }
        EXPECT_EQ(status(run), RunStatus::error) << step;
        EXPECT_EQ(task(run, step).attempts, 1);
    }
}

TEST_P(FlowDefinitionTest, steps_are_numbered_as_they_are_added) {
    store().create_flow("flow");
    store().add_step("flow", {"zeta"});
    store().add_step("flow", {"alpha", StepType::single, {"zeta"}});
    store().add_step("flow", {"beta", StepType::map, {"alpha"}});
    store().add_step("flow", {"second_root"});
    EXPECT_EQ(slugs(), (std::vector<std::string>{"zeta", "alpha", "beta", "second_root"}));
    const FlowShape shape = store().flow_shape("flow");
    EXPECT_EQ(shape.steps[1].deps, std::vector<std::string>{"zeta"});
    EXPECT_EQ(shape.steps[1].type, StepType::single);
    EXPECT_EQ(shape.steps[2].type, StepType::map);
    EXPECT_TRUE(shape.steps[3].deps.empty());
    EXPECT_EQ(
        states(start_flow()), "zeta RUNNING, alpha PENDING, beta PENDING, second_root RUNNING"
    );
}

TEST_P(FlowDefinitionTest, every_option_of_a_step_is_kept) {
    store().create_flow("flow");
    store().add_step("flow", {"dep"});
    const FlowStep step{
        "all",
        StepType::single,
        {"dep"},
        {.max_attempts = 9,
         .backoff_base = 1500ms,
         .task_timeout = 0s,
         .start_delay = 90s,
         .required_input_pattern = Json{R"({"dep":{"a":[1,null]}})"},
         .forbidden_input_pattern = Json{R"("no")"},
         .when_unmet = WhenUnmet::skip_cascade,
         .when_exhausted = WhenExhausted::skip_cascade}};
    store().add_step("flow", step);
    const FlowStep stored = store().flow_shape("flow").steps.at(1);
    EXPECT_EQ(stored.options.max_attempts, 9);
    EXPECT_EQ(stored.options.backoff_base, 1500ms);
    EXPECT_EQ(stored.options.task_timeout, 0s);
    EXPECT_EQ(stored.options.start_delay, 90s);
    EXPECT_EQ(flat(stored.options.required_input_pattern), R"({"dep":{"a":[1,null]}})");
    EXPECT_EQ(flat(stored.options.forbidden_input_pattern), R"("no")");
    EXPECT_EQ(stored.options.when_unmet, WhenUnmet::skip_cascade);
    EXPECT_EQ(stored.options.when_exhausted, WhenExhausted::skip_cascade);
    const FlowStep plain = store().flow_shape("flow").steps.at(0);
    EXPECT_TRUE(plain.options == FlowStepOptions{}) << "what is not given is the flow's";
}

TEST_P(FlowDefinitionTest, adding_the_same_step_again_changes_nothing) {
    store().create_flow("flow");
    store().add_step("flow", {"a"});
    store().add_step("flow", {"b"});
    const FlowStep step{
        "c",
        StepType::single,
        {"a", "b"},
        {.max_attempts = 2, .required_input_pattern = Json{R"({"a": 1, "b": 2})"}}};
    store().add_step("flow", step);
    store().add_step("flow", step);
    FlowStep same = step;
    same.deps = {"b", "a", "b"};
    same.options.required_input_pattern = Json{R"({"b":2,"a":1})"};
    store().add_step("flow", same);
    store().add_step("flow", {"a"});
    EXPECT_EQ(slugs(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(store().flow_shape("flow").steps[2].deps, (std::vector<std::string>{"a", "b"}));
}

TEST_P(FlowDefinitionTest, duplicate_dependencies_count_once) {
    flow("flow").step("a").step("b", {"a", "a"}).create(store());
    store().add_step("flow", {"c", StepType::map, {"a", "a", "a"}});
    const FlowShape shape = store().flow_shape("flow");
    EXPECT_EQ(shape.steps[1].deps, std::vector<std::string>{"a"});
    EXPECT_EQ(shape.steps[2].deps, std::vector<std::string>{"a"});
    EXPECT_EQ(count(Rows::flow_deps), 2);
    const RunId run = start_flow();
    EXPECT_EQ(step(run, "b").remaining_deps, 1);
    work_step("a", "[]");
    EXPECT_EQ(states(run), "a SUCCESS, b RUNNING, c SUCCESS");
}

TEST_P(FlowDefinitionTest, a_different_step_of_the_same_name_is_refused_with_the_difference) {
    store().create_flow("flow");
    store().add_step("flow", {"a"});
    store().add_step(
        "flow", {"b", StepType::single, {"a"}, {.max_attempts = 2, .task_timeout = 5s}}
    );
    const auto refused = [&](const FlowStep& step, const std::string& why) {
        expect_refused([&] { store().add_step("flow", step); }, ErrorCode::flow_mismatch, why);
    };
    const FlowStep stored = store().flow_shape("flow").steps[1];
    for (const auto& [why, change] : std::vector<std::pair<std::string, void (*)(FlowStep&)>>{
             {"deps", [](FlowStep& s) { s.deps = {}; }},
             {"step_type", [](FlowStep& s) { s.type = StepType::map; }},
             {"max_attempts", [](FlowStep& s) { s.options.max_attempts = {}; }},
             {"max_attempts", [](FlowStep& s) { s.options.max_attempts = 4; }},
             {"base_delay", [](FlowStep& s) { s.options.backoff_base = 1s; }},
             {"timeout", [](FlowStep& s) { s.options.task_timeout = 6s; }},
             {"start_delay", [](FlowStep& s) { s.options.start_delay = 1s; }},
             {"required_input_pattern",
              [](FlowStep& s) { s.options.required_input_pattern = Json{"{}"}; }},
             {"forbidden_input_pattern",
              [](FlowStep& s) { s.options.forbidden_input_pattern = Json{"{}"}; }},
             {"when_unmet", [](FlowStep& s) { s.options.when_unmet = WhenUnmet::fail; }},
             {"when_exhausted",
              [](FlowStep& s) { s.options.when_exhausted = WhenExhausted::skip; }}}) {
        FlowStep changed = stored;
        change(changed);
        refused(changed, why);
    }
    FlowStep several = stored;
    several.deps = {};
    several.options.task_timeout = 7s;
    refused(several, "deps");
    refused(several, "timeout");
    refused(several, "'b'");
    EXPECT_TRUE(store().flow_shape("flow").steps[1].options == stored.options);
}

TEST_P(FlowDefinitionTest, bad_values_of_a_step_are_refused_and_named) {
    store().create_flow("flow");
    store().add_step("flow", {"a"});
    store().add_step("flow", {"b"});
    refused_step({"2b"}, "invalid step slug '2b'");
    refused_step({""}, "invalid step slug ''");
    refused_step({"run"}, "'run'");
    refused_step({"s", {}, {"nowhere"}}, "'nowhere'");
    refused_step({"s", {}, {"a", "nowhere"}}, "'nowhere'");
    refused_step({"s", {}, {"s"}}, "cannot depend on itself");
    refused_step({"s", StepType::map, {"a", "b"}}, "at most one step");
    refused_step({"s", {}, {}, {.max_attempts = -1}}, "max_attempts must be 0 (no retry)");
    refused_step({"s", {}, {}, {.backoff_base = -1ms}}, "base_delay");
    refused_step({"s", {}, {}, {.task_timeout = -1ms}}, "timeout");
    refused_step({"s", {}, {}, {.start_delay = -1ms}}, "start_delay");
    refused_step({"s", {}, {}, {.required_input_pattern = Json{"{"}}}, "required_input_pattern");
    refused_step({"s", {}, {}, {.forbidden_input_pattern = Json{"x"}}}, "forbidden_input_pattern");
    EXPECT_EQ(slugs(), (std::vector<std::string>{"a", "b"}));
    expect_refused(
        [&] { store().add_step("nowhere", {"a"}); }, ErrorCode::flow_not_found, "'nowhere'"
    );
}

TEST_P(FlowDefinitionTest, a_step_added_later_cannot_be_a_dependency_of_an_earlier_one) {
    expect_refused(
        [&] { flow("flow").step("a", {"b"}).step("b").create(store()); },
        ErrorCode::invalid_argument,
        "'b'"
    );
    EXPECT_TRUE(store().workflows().empty()) << "all of it is one transaction";
    EXPECT_TRUE(store().queues().empty());
}

TEST_P(FlowDefinitionTest, the_builder_creates_all_of_it_and_adds_to_what_is_there) {
    flow("flow").max_attempts(5).base_delay(1s).timeout(10s).step("a").map("b", "a").create(store()
    );
    EXPECT_EQ(slugs(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(store().flow_shape("flow").options.max_attempts, 5);
    flow("flow").timeout(20s).step("a").step("c", {"b"}).create(store());
    EXPECT_EQ(slugs(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(store().flow_shape("flow").options.task_timeout, 20s);
    EXPECT_EQ(store().flow_shape("flow").options.max_attempts, 5);
    expect_refused(
        [&] { flow("flow").step("d").step("b", {"a"}).create(store()); },
        ErrorCode::flow_mismatch,
        "step_type"
    );
    EXPECT_EQ(slugs().size(), 3U) << "nothing of it was added";
}

TEST_P(FlowDefinitionTest, an_unknown_flow_has_no_shape) {
    make_workflow("job");
    for (const std::string name : {"nowhere", "job"}) {
        expect_refused([&] { (void)store().flow_shape(name); }, ErrorCode::flow_not_found, name);
        expect_refused(
            [&] { (void)store().poll_for_tasks(name); }, ErrorCode::flow_not_found, name
        );
        expect_refused(
            [&] { store().delete_flow_and_data(name); }, ErrorCode::flow_not_found, name
        );
        expect_refused([&] { store().add_step(name, {"a"}); }, ErrorCode::flow_not_found, name);
    }
}

TEST_P(FlowDefinitionTest, names_of_workflows_queues_and_flows_do_not_mix) {
    make_workflow("job");
    make_queue("plain");
    store().create_flow("flow");
    for (const std::string name : {"job", "plain"}) {
        expect_refused(
            [&] { store().create_flow(name); }, ErrorCode::invalid_argument, "is not a flow"
        );
        expect_refused(
            [&] { store().ensure_flow({name}); }, ErrorCode::invalid_argument, "is not a flow"
        );
    }
    EXPECT_EQ(error_of([&] { make_workflow("flow"); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(
        error_of([&] { (void)store().queue("flow").enqueue(Json{"1"}); }).code(),
        ErrorCode::workflow_queue
    );
    EXPECT_FALSE(store().workflow_info("job").is_flow);
}

TEST_P(FlowDefinitionTest, flows_do_not_see_each_others_steps) {
    flow("one").step("a").step("b", {"a"}).create(store());
    flow("two").step("b").step("c", {"b"}).create(store());
    EXPECT_EQ(slugs("one"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(slugs("two"), (std::vector<std::string>{"b", "c"}));
    expect_refused(
        [&] {
            store().add_step("two", {"d", {}, {"a"}});
        },
        ErrorCode::invalid_argument,
        "'a'"
    );
}

TEST_P(FlowDefinitionTest, the_shape_survives_the_way_to_json_and_back) {
    diamond().max_attempts(4).map("e", "d", {.start_delay = 1500ms}).create(store());
    const FlowShape stored = store().flow_shape("flow");
    EXPECT_EQ(store().ensure_flow(to_flow_shape(to_json(stored))), EnsuredFlow::same);
}

TEST_P(FlowDefinitionTest, ensure_creates_or_finds_the_same) {
    const FlowShape shape = diamond().timeout(30s).shape();
    EXPECT_EQ(store().ensure_flow(shape), EnsuredFlow::created);
    EXPECT_EQ(slugs(), (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(store().ensure_flow(shape), EnsuredFlow::same);
    EXPECT_EQ(store().ensure_flow(diamond().shape()), EnsuredFlow::same)
        << "options that are not given do not differ";
    EXPECT_EQ(store().ensure_flow(shape, EnsureMode::force), EnsuredFlow::same);
    EXPECT_EQ(store().flow_shape("flow").options.task_timeout, 30s);
}

TEST_P(FlowDefinitionTest, ensure_refuses_a_different_flow_with_the_difference) {
    store().ensure_flow(diamond().shape());
    const auto refused = [&](const Flow& other, const std::string& why) {
        expect_refused([&] { store().ensure_flow(other.shape()); }, ErrorCode::flow_mismatch, why);
    };
    refused(diamond().timeout(1s), "timeout");
    refused(diamond().max_attempts(1), "max_attempts");
    refused(diamond().step("e"), "steps");
    refused(flow("flow").step("a").step("b", {"a"}).step("c", {"a"}), "steps");
    refused(flow("flow").step("a").step("c", {"a"}).step("b", {"a"}), "'c'");
    refused(flow("flow").step("a").step("b").step("c", {"a"}).step("d", {"b", "c"}), "'b'");
    refused(
        flow("flow")
            .timeout(1s)
            .max_attempts(1)
            .step("a", {}, {.start_delay = 5s})
            .step("x", {"a"})
            .step("c", {"a"}, {.max_attempts = 2}),
        "max_attempts is 3 in the store, 1 in the declaration; timeout is 60000 ms in the store, "
        "1000 ms in the declaration; step 'a': start_delay is 0 ms in the store, 5000 ms in the "
        "declaration; step 1 is 'b' in the store, 'x' in the declaration; step 'c': max_attempts "
        "is the flow's in the store, 2 in the declaration; it has 4 steps in the store, 3 in the "
        "declaration"
    );
    EXPECT_EQ(store().ensure_flow(diamond().shape()), EnsuredFlow::same) << "nothing was changed";
}

TEST_P(FlowDefinitionTest, ensure_checks_the_shape_it_is_given) {
    const auto refused = [&](const FlowShape& shape, const std::string& why) {
        expect_refused([&] { store().ensure_flow(shape); }, ErrorCode::invalid_argument, why);
    };
    refused({"9"}, "invalid flow slug");
    refused({"flow", {.max_attempts = -1}}, "max_attempts");
    refused({"flow", {}, {{"a"}, {"b", {}, {"c"}}}}, "'c'");
    refused({"flow", {}, {{"a"}, {"run"}}}, "'run'");
    EXPECT_TRUE(store().workflows().empty());
}

TEST_P(FlowDefinitionTest, force_replaces_a_different_flow_with_its_runs) {
    store().ensure_flow(diamond().shape());
    const RunId live = start_flow();
    const Flow other = flow("flow").step("x");
    EXPECT_EQ(store().ensure_flow(other.shape(), EnsureMode::force), EnsuredFlow::recreated);
    EXPECT_EQ(slugs(), std::vector<std::string>{"x"});
    EXPECT_EQ(error_of([&] { (void)info(live); }).code(), ErrorCode::run_not_found);
    const RunId run = start_flow();
    work_step("x");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowDefinitionTest, delete_takes_everything_with_it) {
    diamond().create(store());
    diamond("other").create(store());
    const RunId kept = start_flow("null", {.tags = {"t"}}, "other");
    const RunId run = start_flow("null", {.tags = {"t"}});
    drain();
    ASSERT_EQ(status(run), RunStatus::success);
    store().delete_flow_and_data("flow");
    EXPECT_EQ(error_of([&] { (void)info(run); }).code(), ErrorCode::run_not_found);
    EXPECT_EQ(
        error_of([&] { (void)store().flow_shape("flow"); }).code(), ErrorCode::flow_not_found
    );
    for (const Rows rows : {Rows::runs, Rows::steps, Rows::tasks, Rows::messages, Rows::run_tags})
        EXPECT_EQ(count(rows, run), 0) << rows;
    EXPECT_EQ(count(Rows::flow_steps), 4) << "the other flow's";
    EXPECT_EQ(store().queues().size(), 1U);
    drain({}, "other");
    EXPECT_EQ(status(kept), RunStatus::success);
    diamond().create(store());
    EXPECT_EQ(slugs().size(), 4U) << "it can be made again";
}

TEST_P(FlowDefinitionTest, delete_is_refused_while_runs_live_unless_forced) {
    diamond().create(store());
    const RunId run = start_flow();
    (void)poll_one();
    expect_refused(
        [&] { store().delete_flow_and_data("flow"); }, ErrorCode::workflow_has_runs, "flow"
    );
    EXPECT_EQ(status(run), RunStatus::running);
    store().delete_flow_and_data("flow", DeleteMode::force);
    EXPECT_EQ(error_of([&] { (void)info(run); }).code(), ErrorCode::run_not_found);
    for (const Rows rows :
         {Rows::runs, Rows::steps, Rows::tasks, Rows::messages, Rows::flow_steps, Rows::flow_deps})
        EXPECT_EQ(count(rows), 0) << rows;
}

TEST_P(FlowDefinitionTest, a_report_about_a_deleted_flow_is_cancelled) {
    diamond().create(store());
    (void)start_flow();
    const HeldTask held = claim_task();
    store().delete_flow_and_data("flow", DeleteMode::force);
    EXPECT_EQ(store().complete_task(held.ref(), Json{"1"}, 1), TaskOutcome::unknown_task);
    EXPECT_NE(commit(complete_write(held)), WriteStatus::done);
}

TEST_P(FlowDefinitionTest, delete_workflow_deletes_a_flow_without_live_runs) {
    diamond().create(store());
    const RunId run = start_flow();
    EXPECT_EQ(
        error_of([&] { store().delete_workflow("flow"); }).code(), ErrorCode::workflow_has_runs
    );
    drain();
    store().delete_workflow("flow");
    EXPECT_EQ(error_of([&] { (void)info(run); }).code(), ErrorCode::run_not_found);
    EXPECT_EQ(
        count(Rows::tasks) + count(Rows::steps) + count(Rows::flow_steps) + count(Rows::flow_deps),
        0
    );
}

TEST_P(FlowDefinitionTest, a_step_added_later_is_of_later_runs_only) {
    flow("flow").step("a").create(store());
    const RunId before = start_flow();
    flow("flow").step("b", {"a"}).create(store());
    const RunId after = start_flow();
    drain([](const Task&) { return "1"; });
    EXPECT_EQ(states(before), "a SUCCESS");
    EXPECT_EQ(output_of(before), R"({"a":1})") << "in this run nothing depends on it";
    EXPECT_EQ(states(after), "a SUCCESS, b SUCCESS");
    EXPECT_EQ(output_of(after), R"({"b":1})");
}

}  // namespace
}  // namespace pawl::test
