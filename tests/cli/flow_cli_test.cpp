// The commands of flows, on both backends.
#include <pawl/json.h>
#include <pawl/pawl.h>

#include "cli/cli_fixture.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class FlowCliTest : public ::testing::TestWithParam<BackendKind> {
protected:
    void SetUp() override { ASSERT_EQ(pawl({"install"}).code, 0); }

    Finished pawl(Words words, const std::string& input = {}) const {
        return cli_.run(std::move(words), input);
    }
    json pawl_json(Words words, const std::string& input = {}) const {
        return cli_.json(std::move(words), input);
    }
    std::string failure(Words words, const std::string& input = {}) const {
        return cli_.failure(std::move(words), input);
    }
    void flow(Words words) const { command({"flow"}, std::move(words)); }
    void step(Words words) const { command({"flow", "add-step"}, std::move(words)); }
    // a -> b, a -> c, {b, c} -> d
    void make_diamond() const {
        flow({"create", "diamond"});
        step({"diamond", "a"});
        step({"diamond", "b", "--dep", "a"});
        step({"diamond", "c", "--dep", "a"});
        step({"diamond", "d", "--dep", "b", "--dep", "c"});
    }
    std::string start(Words words) const {
        words.insert(words.begin(), {"flow", "start"});
        return std::to_string(pawl_json(std::move(words))["id"].get<long>());
    }
    json poll(const std::string& slug, const std::string& qty = "100") const {
        return pawl_json({"flow", "poll", slug, "--max", qty, "--lease", "30s"});
    }
    // The outcome is printed on standard output even if it is not a success.
    std::string report(Words words) const {
        words.insert(words.begin(), "flow");
        words.emplace_back("--json");
        const Finished finished = pawl(words);
        const std::string outcome = json::parse(finished.out)["outcome"];
        EXPECT_EQ(finished.code, outcome == "done" ? 0 : 1);
        return outcome;
    }
    json show(const std::string& run) const { return pawl_json({"flow", "show", run}); }

    Place place_{GetParam()};
    Cli cli_{place_.url()};

private:
    void command(Words group, Words words) const {
        words.insert(words.begin(), group.begin(), group.end());
        const Finished finished = pawl(words);
        ASSERT_EQ(finished.code, 0) << finished.err;
    }
};
PAWL_FOR_EACH_BACKEND(FlowCliTest);

TEST_P(FlowCliTest, a_flow_is_created_changed_listed_and_deleted) {
    const Finished made = pawl({"flow", "create", "web", "--max-attempts", "5", "--timeout", "2m"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_TRUE(contains(made.out, "max attempts 5, backoff base 5s, timeout 2m"));
    const json changed = pawl_json({"flow", "create", "web", "--backoff-base", "500ms"});
    EXPECT_EQ(changed["max_attempts"], 5);
    EXPECT_EQ(changed["base_delay"], 0.5);
    EXPECT_EQ(changed["timeout"], 120);
    ASSERT_EQ(pawl({"workflow", "create", "plain"}).code, 0);
    const json flows = pawl_json({"flow", "list"});
    ASSERT_EQ(flows.size(), 1U);
    EXPECT_EQ(flows[0]["name"], "web");
    EXPECT_EQ(flows[0]["is_flow"], true);
    EXPECT_EQ(flows[0]["task_timeout_ms"], 120000);
    EXPECT_TRUE(contains(pawl({"flow", "list"}).out, "web"));
    EXPECT_EQ(pawl_json({"workflow", "list"}).size(), 2U);
    EXPECT_TRUE(contains(pawl({"workflow", "list"}).out, "flow"));
    EXPECT_TRUE(contains(pawl({"workflow", "show", "web"}).out, "kind          flow"));
    EXPECT_EQ(pawl_json({"flow", "delete", "web"})["deleted"], true);
    EXPECT_EQ(failure({"flow", "shape", "web"}), "flow_not_found");
}

TEST_P(FlowCliTest, a_step_has_all_its_options_in_the_shape) {
    flow({"create", "web"});
    step({"web", "fetch"});
    const json shape = pawl_json(
        {"flow",
         "add-step",
         "web",
         "resize",
         "--dep",
         "fetch",
         "--map",
         "--max-attempts",
         "7",
         "--base-delay",
         "2s",
         "--timeout",
         "0s",
         "--start-delay",
         "1m",
         "--required",
         R"({"a":1})",
         "--forbidden",
         R"([true])",
         "--when-unmet",
         "skip-cascade",
         "--when-exhausted",
         "skip"}
    );
    const json& resize = shape["steps"][1];
    EXPECT_EQ(resize["slug"], "resize");
    EXPECT_EQ(resize["step_type"], "map");
    EXPECT_EQ(resize["deps"], json::array({"fetch"}));
    EXPECT_EQ(resize["max_attempts"], 7);
    EXPECT_EQ(resize["base_delay"], 2);
    EXPECT_EQ(resize["timeout"], 0);
    EXPECT_EQ(resize["start_delay"], 60);
    EXPECT_EQ(resize["required_input_pattern"], (json{{"a", 1}}));
    EXPECT_EQ(resize["forbidden_input_pattern"], json::array({true}));
    EXPECT_EQ(resize["when_unmet"], "skip-cascade");
    EXPECT_EQ(resize["when_exhausted"], "skip");
    const auto text = pawl({"flow", "shape", "web"}).out;
    for (const char* part : {"resize", "map", "AFTER", "else skip-cascade", "none", "1m"})
        EXPECT_TRUE(contains(text, part)) << text;
}

TEST_P(FlowCliTest, a_shape_can_be_ensured_elsewhere) {
    make_diamond();
    auto shape = pawl_json({"flow", "shape", "diamond"});
    EXPECT_EQ(pawl_json({"flow", "ensure", "-"}, shape.dump())["ensured"], "same");
    shape["slug"] = "copy";
    EXPECT_EQ(pawl_json({"flow", "ensure", "-"}, shape.dump())["ensured"], "created");
    auto copy = pawl_json({"flow", "shape", "copy"});
    EXPECT_EQ(copy, shape);
    shape["steps"].erase(3);
    EXPECT_EQ(failure({"flow", "ensure", "-"}, shape.dump()), "flow_mismatch");
    EXPECT_EQ(pawl_json({"flow", "ensure", "-", "--force"}, shape.dump())["ensured"], "recreated");
    EXPECT_EQ(pawl_json({"flow", "shape", "copy"})["steps"].size(), 3U);
    EXPECT_EQ(failure({"flow", "ensure", "-"}, "not json"), "invalid_argument");
    EXPECT_EQ(pawl({"flow", "ensure", "/nowhere/flow.json"}).code, 2);
}

TEST_P(FlowCliTest, a_diamond_is_worked_by_hand) {
    make_diamond();
    const auto run = start({"diamond", R"({"n":1})", "--tag", "nightly"});
    EXPECT_EQ(show(run)["status"], "QUEUED");
    const json first = poll("diamond");
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0]["step"], "a");
    EXPECT_EQ(first[0]["task_index"], 0);
    EXPECT_EQ(first[0]["attempts"], 1);
    EXPECT_EQ(first[0]["delivery"], 1);
    EXPECT_EQ(first[0]["input"], (json{{"run", {{"n", 1}}}}));
    EXPECT_EQ(poll("diamond"), json::array());
    EXPECT_EQ(report({"complete", run, "a", R"([1,2])", "--delivery", "1"}), "done");
    EXPECT_EQ(poll("diamond").size(), 2U);
    EXPECT_EQ(report({"complete", run, "b", "0", R"("b")"}), "done");
    EXPECT_EQ(poll("diamond"), json::array()) << "d waits for c";
    EXPECT_EQ(pawl({"flow", "complete", run, "c", "-"}, "{\"c\":true}\n").code, 0);
    EXPECT_EQ(
        poll("diamond")[0]["input"], (json{{"run", {{"n", 1}}}, {"b", "b"}, {"c", {{"c", true}}}})
    );
    const Finished last = pawl({"flow", "complete", run, "d", "4"});
    EXPECT_EQ(last.out, "task 0 of step d of run " + run + ": done\n");
    EXPECT_EQ(pawl({"run", "wait", run}).out, "{\"d\":4}\n");
}

TEST_P(FlowCliTest, a_run_shows_its_steps_tasks_and_what_they_wait_for) {
    make_diamond();
    const auto run = start({"diamond"});
    (void)poll("diamond");
    ASSERT_EQ(report({"complete", run, "a", R"([1,2])", "--delivery", "1"}), "done");
    const json story = show(run);
    EXPECT_EQ(story["status"], "RUNNING");
    EXPECT_EQ(story["remaining_steps"], 3);
    ASSERT_EQ(story["steps"].size(), 4U);
    EXPECT_EQ(story["steps"][0]["output"], json::array({1, 2}));
    EXPECT_EQ(story["steps"][1]["deps"], json::array({"a"}));
    EXPECT_EQ(story["steps"][1]["remaining_tasks"], 1);
    EXPECT_EQ(story["steps"][3]["status"], "PENDING");
    EXPECT_EQ(story["steps"][3]["remaining_deps"], 2);
    ASSERT_EQ(story["tasks"].size(), 3U);
    EXPECT_EQ(story["tasks"][0]["status"], "SUCCESS");
    EXPECT_EQ(story["tasks"][1]["status"], "QUEUED");
    EXPECT_EQ(pawl_json({"run", "show", run}), story);
    EXPECT_EQ(pawl_json({"run", "steps", run}), story["steps"]);
    const auto text = pawl({"flow", "show", run}).out;
    for (const char* part :
         {"flow         diamond",
          "steps left   3",
          "b, c",
          "waits for 2 steps",
          "1 of 1",
          "[1,2]",
          "TASK",
          "QUEUED"})
        EXPECT_TRUE(contains(text, part)) << text;
    EXPECT_EQ(pawl({"run", "show", run}).out, text);
    EXPECT_TRUE(contains(pawl({"run", "steps", run}).out, "waits for 2 steps"));
}

TEST_P(FlowCliTest, a_map_is_reported_by_index) {
    flow({"create", "album"});
    step({"album", "resize", "--map"});
    const auto run = start({"album", R"(["x","y","z"])"});
    const json tasks = poll("album");
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[1]["input"], "y");
    for (const char* index : {"2", "0", "1"})
        EXPECT_EQ(report({"complete", run, "resize", index, index}), "done");
    EXPECT_EQ(pawl_json({"run", "wait", run})["output"]["resize"], json::array({0, 1, 2}));
    EXPECT_TRUE(contains(pawl({"flow", "show", run}).out, "3 of 3"));
}

TEST_P(FlowCliTest, many_tasks_are_not_all_printed) {
    flow({"create", "album"});
    step({"album", "resize", "--map"});
    const auto run = start({"album", json(std::vector<int>(150)).dump()});
    EXPECT_EQ(poll("album", "2").size(), 2U);
    EXPECT_TRUE(contains(
        pawl({"flow", "show", run}).out, "148 of 150 tasks are not shown; --json prints all"
    ));
    EXPECT_EQ(show(run)["tasks"].size(), 150U);
}

TEST_P(FlowCliTest, a_failed_attempt_is_retried_and_the_last_one_ends_the_run) {
    flow({"create", "web", "--max-attempts", "2", "--base-delay", "0s"});
    step({"web", "fetch"});
    step({"web", "report", "--dep", "fetch"});
    const auto run = start({"web"});
    ASSERT_EQ(poll("web").size(), 1U);
    EXPECT_EQ(report({"fail", run, "fetch", "no route", "--delivery", "1"}), "done");
    EXPECT_EQ(show(run)["tasks"][0]["error"], "no route");
    ASSERT_EQ(poll("web").size(), 1U);
    EXPECT_EQ(report({"fail", run, "fetch", "0", "no answer", "--delivery", "2"}), "done");
    const json story = show(run);
    EXPECT_EQ(story["status"], "ERROR");
    EXPECT_TRUE(contains(story["error"]["message"].get<std::string>(), "no answer"));
    EXPECT_EQ(story["steps"][0]["status"], "ERROR");
    EXPECT_EQ(story["steps"][1]["status"], "CANCELLED");
    EXPECT_EQ(failure({"run", "wait", run}), "execution_failed");
}

TEST_P(FlowCliTest, reports_that_come_to_nothing_say_why) {
    make_diamond();
    const auto run = start({"diamond"});
    EXPECT_EQ(report({"complete", run, "a", "1"}), "not_running");
    (void)poll("diamond");
    EXPECT_EQ(report({"complete", run, "a", "1", "--delivery", "9"}), "lease_lost");
    EXPECT_EQ(report({"complete", run, "nowhere", "1"}), "unknown_task");
    EXPECT_EQ(report({"fail", "99", "a", "why"}), "unknown_task");
    EXPECT_EQ(report({"complete", run, "a", "1", "--delivery", "1"}), "done");
    EXPECT_EQ(report({"fail", run, "a", "too late"}), "finished");
    (void)poll("diamond");
    ASSERT_EQ(pawl({"run", "cancel", run, "--reason", "enough"}).code, 0);
    const Finished late = pawl({"flow", "complete", run, "b", "1"});
    EXPECT_EQ(late.code, 1);
    EXPECT_EQ(late.out, "");
    EXPECT_TRUE(contains(late.err, "its run was cancelled"));
    EXPECT_TRUE(contains(late.err, "nothing was changed"));
}

TEST_P(FlowCliTest, a_skipped_step_shows_the_reason) {
    flow({"create", "web"});
    step({"web", "fetch", "--required", R"({"deep":true})"});
    step({"web", "report", "--dep", "fetch"});
    const auto run = start({"web", R"({"deep":false})"});
    EXPECT_EQ(show(run)["steps"][0]["status"], "SKIPPED");
    EXPECT_EQ(show(run)["steps"][0]["skip_reason"], "condition_unmet");
    EXPECT_TRUE(contains(pawl({"flow", "show", run}).out, "condition_unmet"));
    EXPECT_EQ(poll("web")[0]["input"], (json{{"run", {{"deep", false}}}}));
}

TEST_P(FlowCliTest, the_options_of_a_trigger_arrive) {
    make_diamond();
    const auto run =
        start({"diamond", "1", "--priority", "5", "--key", "k", "--tag", "nightly", "--delay", "1h"}
        );
    EXPECT_EQ(poll("diamond"), json::array()) << "not before an hour";
    const json story = show(run);
    EXPECT_EQ(story["priority"], 5);
    EXPECT_EQ(story["tags"], json::array({"nightly"}));
    EXPECT_EQ(pawl_json({"flow", "start", "diamond", "--key", "k"})["created"], false);
    EXPECT_EQ(pawl({"run", "wake", run}).code, 0);
    EXPECT_EQ(poll("diamond").size(), 1U);
    const Finished late = pawl({"flow", "start", "diamond", "--wait", "10ms", "--json"});
    EXPECT_EQ(late.code, 5);
    EXPECT_TRUE(contains(late.err, R"("error":"wait_timeout")"));
    EXPECT_TRUE(json::parse(late.out)["output"].is_null());
}

TEST_P(FlowCliTest, bad_definitions_are_refused_and_change_nothing) {
    EXPECT_EQ(failure({"flow", "create", "1st"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "create", "run"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "create", "web", "--max-attempts", "-1"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "add-step", "nowhere", "a"}), "flow_not_found");
    flow({"create", "web"});
    step({"web", "a"});
    step({"web", "a"});
    step({"web", "b"});
    EXPECT_EQ(failure({"flow", "add-step", "web", "c", "--dep", "x"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "add-step", "web", "c", "--dep", "c"}), "invalid_argument");
    EXPECT_EQ(
        failure({"flow", "add-step", "web", "c", "--map", "--dep", "a", "--dep", "b"}),
        "invalid_argument"
    );
    EXPECT_EQ(failure({"flow", "add-step", "web", "c", "--required", "{"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "add-step", "web", "b", "--dep", "a"}), "flow_mismatch");
    EXPECT_EQ(pawl({"flow", "add-step", "web", "c", "--when-unmet", "panic"}).code, 2);
    EXPECT_EQ(pawl({"flow", "add-step", "web", "c", "--timeout", "soon"}).code, 2);
    EXPECT_EQ(pawl({"flow", "add-step", "web"}).code, 2);
    EXPECT_EQ(pawl_json({"flow", "shape", "web"})["steps"].size(), 2U);
    ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    EXPECT_EQ(failure({"flow", "create", "mail"}), "invalid_argument");
}

TEST_P(FlowCliTest, invalid_reports_and_lookups_are_refused) {
    make_diamond();
    const auto run = start({"diamond"});
    (void)poll("diamond");
    EXPECT_EQ(failure({"flow", "complete", run, "a", "{"}), "invalid_payload");
    EXPECT_EQ(pawl({"flow", "complete", run, "a"}).code, 2) << "an output is wanted";
    EXPECT_EQ(pawl({"flow", "complete", run, "a", "first", "1"}).code, 2);
    EXPECT_EQ(pawl({"flow", "complete", run, "a", "0", "1", "2"}).code, 2);
    EXPECT_EQ(failure({"flow", "start", "nowhere"}), "flow_not_found");
    EXPECT_EQ(failure({"flow", "poll", "nowhere"}), "flow_not_found");
    EXPECT_EQ(failure({"flow", "poll", "diamond", "--qty", "0"}), "invalid_argument");
    EXPECT_EQ(failure({"flow", "show", "9999"}), "run_not_found");
    EXPECT_EQ(failure({"flow", "delete", "diamond"}), "workflow_has_runs");
    EXPECT_EQ(show(run)["tasks"][0]["status"], "RUNNING");
    EXPECT_EQ(pawl({"flow", "delete", "diamond", "--force"}).code, 0);
    EXPECT_EQ(failure({"run", "show", run}), "run_not_found");
}

TEST_P(FlowCliTest, a_code_first_workflow_is_not_a_flow) {
    ASSERT_EQ(pawl({"workflow", "create", "plain"}).code, 0);
    EXPECT_EQ(failure({"flow", "start", "plain"}), "flow_not_found");
    EXPECT_EQ(failure({"flow", "create", "plain"}), "invalid_argument");
    const auto run = std::to_string(pawl_json({"trigger", "plain"})["id"].get<long>());
    EXPECT_EQ(failure({"flow", "show", run}), "invalid_argument");
    flow({"create", "web"});
    EXPECT_EQ(failure({"workflow", "create", "web"}), "invalid_argument");
    EXPECT_EQ(pawl_json({"trigger", "web"})["created"], true) << "a flow may be triggered as well";
}

TEST(FlowCompletion, knows_the_commands_and_their_words) {
    const auto script = run({PAWL_COMMAND, "completion", "bash"}).out;
    for (const char* part :
         {"' flow add-step'",
          "' flow ensure'",
          "' flow complete'",
          "--when-exhausted)",
          "fail skip skip-cascade",
          "skip skip-cascade fail"})
        EXPECT_TRUE(contains(script, part));
    const auto help = run({PAWL_COMMAND, "flow", "complete", "--help"}).out;
    EXPECT_TRUE(contains(help, "RUN STEP [INDEX] OUTPUT")) << help;
}

}  // namespace
}  // namespace pawl::test
