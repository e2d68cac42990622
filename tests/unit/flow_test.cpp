// Declarations of flows: slugs, options, differences, delays, and their shape as JSON.
#include "model/flow.h"

#include <nlohmann/json.hpp>

#include "support/expect.h"

namespace pawl::test {
namespace {

void expect_refused(const std::function<void()>& call, const std::string& why) {
    const Error error = error_of(call);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), why));
}

void refused_step(const FlowStep& step, const std::string& why) {
    expect_refused([&] { model::check_flow_step("f", step); }, why);
}

TEST(FlowModelTest, slugs_are_1_to_128_letters_digits_and_underscores) {
    for (const std::string good : {"a", "_", "A9_z", "runs", "Run", "_1"}) {
        EXPECT_NO_THROW(model::check_flow_slug(good));
        EXPECT_NO_THROW(model::check_flow_step("f", {good}));
    }
    EXPECT_NO_THROW(model::check_flow_slug(std::string(128, 'a')));
    for (const std::string bad : {"", "9a", "a-b", "a b", "a.b", "ä", "a\n", "a:b"}) {
        expect_refused([&] { model::check_flow_slug(bad); }, "invalid flow slug '" + bad + "'");
        refused_step({bad}, "invalid step slug '" + bad + "'");
    }
    expect_refused([&] { model::check_flow_slug(std::string(129, 'a')); }, "1 to 128");
    expect_refused([&] { model::check_flow_slug(std::string("a\0b", 3)); }, "invalid flow slug");
}

TEST(FlowModelTest, run_is_reserved) {
    expect_refused([] { model::check_flow_slug("run"); }, "'run'");
    refused_step({"run"}, "'run'");
}

TEST(FlowModelTest, options_out_of_their_range_are_refused_by_name) {
    const auto refused = [](const FlowOptions& options, const std::string& why) {
        expect_refused([&] { model::check_flow_options("f", options); }, why);
    };
    refused({.max_attempts = -1}, "flow 'f': max_attempts");
    refused({.max_attempts = 1'000'001}, "max_attempts");
    refused({.backoff_base = -1ms}, "base_delay");
    refused({.task_timeout = -1ms}, "timeout");
    EXPECT_NO_THROW(model::check_flow_options("f", {1, 0ms, 0ms}));
    EXPECT_NO_THROW(model::check_flow_options("f", {}));
    refused_step({"s", {}, {}, {.max_attempts = -1}}, "step 's' of flow 'f': max_attempts");
    refused_step({"s", {}, {}, {.backoff_base = -1ms}}, "base_delay");
    refused_step({"s", {}, {}, {.task_timeout = -1ms}}, "timeout");
    refused_step({"s", {}, {}, {.start_delay = -1ms}}, "start_delay");
}

TEST(FlowModelTest, patterns_must_be_json) {
    refused_step({"s", {}, {}, {.required_input_pattern = Json{"{"}}}, "required_input_pattern");
    refused_step({"s", {}, {}, {.forbidden_input_pattern = Json{""}}}, "forbidden_input_pattern");
    EXPECT_NO_THROW(model::check_flow_step("f", {"s", {}, {}, {.required_input_pattern = Json{}}}));
}

TEST(FlowModelTest, a_step_depends_on_others_and_a_map_on_one_at_most) {
    refused_step({"s", {}, {"a", "s"}}, "cannot depend on itself");
    refused_step({"s", StepType::map, {"a", "b"}}, "at most one step");
    EXPECT_NO_THROW(model::check_flow_step("f", {"s", StepType::map, {"a", "a"}}));
    EXPECT_NO_THROW(model::check_flow_step("f", {"s", StepType::map, {}}));
    EXPECT_NO_THROW(model::check_flow_step("f", {"s", {}, {"a", "b", "a"}}));
}

TEST(FlowModelTest, a_dependency_must_be_there) {
    const std::vector<FlowStep> earlier{{"a"}, {"b"}};
    EXPECT_NO_THROW(model::check_flow_deps("f", {"s", {}, {"b", "a"}}, earlier));
    expect_refused(
        [&] {
            model::check_flow_deps("f", {"s", {}, {"a", "x"}}, earlier);
        },
        "depends on 'x'"
    );
}

TEST(FlowModelTest, dependencies_count_once_and_stand_in_the_flows_order) {
    const std::vector<FlowStep> earlier{{"a"}, {"b"}, {"c"}};
    const FlowStep step = model::normalized({"s", {}, {"c", "a", "c"}}, earlier);
    EXPECT_EQ(step.deps, (std::vector<std::string>{"a", "c"}));
}

TEST(FlowModelTest, the_difference_of_two_steps_names_every_option) {
    const FlowStep stored{
        "s",
        StepType::single,
        {"a", "b"},
        {.max_attempts = 3, .task_timeout = 5s, .required_input_pattern = Json{R"({"a": 1})"}}};
    EXPECT_EQ(model::difference(stored, stored), "");
    FlowStep given = stored;
    given.deps = {"b", "a", "b"};
    given.options.required_input_pattern = Json{R"( {"a":1} )"};
    EXPECT_EQ(model::difference(stored, given), "") << "written differently, the same";
    given.deps = {"a"};
    EXPECT_EQ(
        model::difference(stored, given), "deps is {a,b} in the store, {a} in the declaration"
    );
    const FlowStep other{
        "s",
        StepType::map,
        {},
        {.max_attempts = 4,
         .backoff_base = 1s,
         .start_delay = 2s,
         .required_input_pattern = Json{"[]"},
         .forbidden_input_pattern = Json{"1"},
         .when_unmet = WhenUnmet::fail,
         .when_exhausted = WhenExhausted::skip}};
    const std::string all = model::difference(stored, other);
    for (const std::string name :
         {"step_type is single in the store, map in the declaration",
          "deps is {a,b} in the store, {} in the declaration",
          "max_attempts is 3 in the store, 4 in the declaration",
          "base_delay is the flow's in the store, 1000 ms in the declaration",
          "timeout is 5000 ms in the store, the flow's in the declaration",
          "start_delay is 0 ms in the store, 2000 ms in the declaration",
          "required_input_pattern is {\"a\":1} in the store, [] in the declaration",
          "forbidden_input_pattern is none in the store, 1 in the declaration",  // words: ok
          "when_unmet is skip in the store, fail in the declaration",
          "when_exhausted is fail in the store, skip in the declaration"})
        EXPECT_TRUE(contains(all, name));
}

TEST(FlowModelTest, the_difference_of_two_flows_is_the_first_that_matters) {
    const FlowShape stored{"f", {3, 5s, 60s}, {{"a"}, {"b", {}, {"a"}}}};
    FlowShape given = stored;
    EXPECT_EQ(model::difference(stored, given), "");
    given.options = {};
    EXPECT_EQ(model::difference(stored, given), "") << "what is not given does not differ";
    given.options.task_timeout = 61s;
    EXPECT_TRUE(contains(
        model::difference(stored, given),
        "timeout is 60000 ms in the store, 61000 ms in the declaration"
    ));
    given = stored;
    given.steps[1].slug = "c";
    EXPECT_EQ(
        model::difference(stored, given), "step 1 is 'b' in the store, 'c' in the declaration"
    );
    given = stored;
    given.steps[1].deps = {};
    EXPECT_TRUE(contains(model::difference(stored, given), "step 'b': deps"));
    given = stored;
    given.steps.pop_back();
    EXPECT_EQ(
        model::difference(stored, given), "it has 2 steps in the store, 1 in the declaration"
    );
    given = stored;
    given.steps.push_back({"c"});
    EXPECT_EQ(
        model::difference(stored, given), "it has 2 steps in the store, 3 in the declaration"
    );
}

TEST(FlowModelTest, a_retry_waits_twice_as_long_each_time_up_to_an_hour) {
    EXPECT_EQ(model::flow_retry_delay(5s, 1), 10s);
    EXPECT_EQ(model::flow_retry_delay(5s, 2), 20s);
    EXPECT_EQ(model::flow_retry_delay(5s, 3), 40s);
    EXPECT_EQ(model::flow_retry_delay(5s, 9), 2560s);
    EXPECT_EQ(model::flow_retry_delay(5s, 10), 1h);
    EXPECT_EQ(model::flow_retry_delay(1ms, 1'000'000), 1h);
    EXPECT_EQ(model::flow_retry_delay(0ms, 1'000'000), 0ms);
    EXPECT_EQ(model::flow_retry_delay(2h, 0), 1h);
    EXPECT_EQ(model::flow_retry_delay(Duration::max(), 5), 1h);
}

TEST(FlowJsonTest, a_shape_survives_the_way_to_json_and_back) {
    FlowShape shape{"f", {7, 1500ms, 0s}, {{"a"}, {"b", StepType::map, {"a"}}}};
    shape.steps.push_back(
        {"c",
         StepType::single,
         {"a", "b"},
         {.max_attempts = 2,
          .backoff_base = 0s,
          .task_timeout = 1ms,
          .start_delay = 90s,
          .required_input_pattern = Json{R"({"a":[1,null]})"},
          .forbidden_input_pattern = Json{"null"},
          .when_unmet = WhenUnmet::skip_cascade,
          .when_exhausted = WhenExhausted::skip_cascade}}
    );
    const FlowShape back = to_flow_shape(to_json(shape));
    EXPECT_EQ(back.slug, "f");
    EXPECT_EQ(back.options.max_attempts, 7);
    EXPECT_EQ(back.options.backoff_base, 1500ms);
    EXPECT_EQ(back.options.task_timeout, 0s);
    ASSERT_EQ(back.steps.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(back.steps[i].slug, shape.steps[i].slug);
        EXPECT_EQ(back.steps[i].type, shape.steps[i].type);
        EXPECT_EQ(back.steps[i].deps, shape.steps[i].deps);
        EXPECT_TRUE(back.steps[i].options == shape.steps[i].options) << i;
    }
    EXPECT_EQ(to_json(back), to_json(shape));
}

TEST(FlowJsonTest, every_millisecond_survives) {
    for (const int ms : {1, 29, 57, 1001, 4003, 16'383, 86'399'999}) {
        const FlowShape shape{"f", {.task_timeout = Duration(ms)}, {}};
        EXPECT_EQ(to_flow_shape(to_json(shape)).options.task_timeout, Duration(ms));
    }
}

TEST(FlowJsonTest, times_are_seconds_and_words_those_of_sql) {
    FlowShape shape{"f", {3, 5s, 60s}, {{"a"}}};
    shape.steps[0].options.start_delay = 1500ms;
    shape.steps[0].options.when_unmet = WhenUnmet::skip_cascade;
    const auto value = nlohmann::json::parse(to_json(shape).text);
    EXPECT_EQ(value.at("slug"), "f");
    EXPECT_EQ(value.at("timeout").dump(), "60");
    const auto& step = value.at("steps").at(0);
    EXPECT_EQ(step.at("start_delay"), 1.5);
    EXPECT_EQ(step.at("step_type"), "single");
    EXPECT_EQ(step.at("when_unmet"), "skip-cascade");
    EXPECT_EQ(step.at("when_exhausted"), "fail");
    EXPECT_FALSE(step.contains("max_attempts")) << "what is the flow's is left out";
}

TEST(FlowJsonTest, a_shape_that_is_not_json_is_an_error_of_pawl) {
    FlowShape pattern{"f", {}, {{"a"}}};
    pattern.steps[0].options.required_input_pattern = Json{"{"};
    EXPECT_EQ(error_of([&] { (void)to_json(pattern); }).code(), ErrorCode::invalid_argument);
    const FlowShape name{"\xff", {}, {}};
    EXPECT_EQ(error_of([&] { (void)to_json(name); }).code(), ErrorCode::invalid_argument);
}

TEST(FlowJsonTest, omitted_members_have_their_defaults) {
    const FlowShape shape = to_flow_shape(Json{R"({"slug":"f","steps":[{"slug":"a"}]})"});
    EXPECT_FALSE(
        shape.options.max_attempts || shape.options.backoff_base || shape.options.task_timeout
    );
    ASSERT_EQ(shape.steps.size(), 1U);
    EXPECT_EQ(shape.steps[0].type, StepType::single);
    EXPECT_TRUE(shape.steps[0].options == FlowStepOptions{});
    EXPECT_TRUE(to_flow_shape(Json{R"({"slug":"f"})"}).steps.empty());
}

TEST(FlowJsonTest, an_invalid_shape_is_refused_with_the_reason) {
    const auto refused = [](const std::string& text, const std::string& why) {
        expect_refused([&] { (void)to_flow_shape(Json{text}); }, why);
    };
    const auto refused_member = [&](const std::string& member, const std::string& why) {
        refused(R"({"slug":"f","steps":[{"slug":"a",)" + member + "}]}", why);
    };
    refused("{", "not JSON");
    refused("[]", "must be an object");
    refused(R"({"slug":1})", "'slug' must be a string");
    refused(R"({"slug":"f","max_attempts":"3"})", "'max_attempts' must be a whole number");
    refused(R"({"slug":"f","max_attempts":1.5})", "'max_attempts' must be a whole number");
    refused(R"({"slug":"f","base_delay":"5"})", "'base_delay' must be a number of seconds");
    refused(R"({"slug":"f","steps":{}})", "'steps' must be an array");
    refused(R"({"slug":"f","steps":[1]})", "each step must be an object");
    refused_member(R"("step_type":"loop")", "unknown step_type 'loop'");
    refused_member(R"("deps":"b")", "deps of 'a' must be an array");
    refused_member(R"("deps":[1])", "deps of 'a' must be strings");
    refused_member(R"("when_unmet":"retry")", "unknown when_unmet 'retry'");
    refused_member(R"("when_exhausted":"retry")", "unknown when_exhausted 'retry'");
}

TEST(FlowJsonTest, numbers_that_no_option_can_hold_are_refused_and_not_bent) {
    for (const std::string text :
         {R"({"slug":"f","max_attempts":4294967297})",
          R"({"slug":"f","max_attempts":1e300})",
          R"({"slug":"f","timeout":1e300})",
          R"({"slug":"f","timeout":-1e300})"}) {
        EXPECT_EQ(
            error_of([&] { (void)to_flow_shape(Json{text}); }).code(), ErrorCode::invalid_argument
        ) << text;
    }
}

}  // namespace
}  // namespace pawl::test
