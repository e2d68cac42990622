// The commands of workflows and runs, and the demo. The workers run in the test process.
#include <pawl/json.h>
#include <pawl/pawl.h>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

// greet: two steps. approve: pauses in between. break: its second step fails permanently.
json greet(Context& context, const json& input) {
    const auto name = context.step("name", [&] {
        return input.is_null() ? "stranger" : input.value("name", "");
    });
    return context.step("greeting", [&] { return json{{"text", "hello " + name}}; });
}
json approve(Context& context, const json& input) {
    context.step("prepare", [] {});
    const auto answer = context.pause<json>("decision", "a person has to decide");
    return json{{"input", input}, {"answer", answer}};
}
void break_down(Context& context) {
    context.step("fine", [] { return 1; });
    context.step("broken", [] { throw PermanentError("no such file"); });
}

class WorkflowCliTest : public CliFixture {
protected:
    void SetUp() override {
        ASSERT_EQ(pawl({"install"}).code, 0);
        for (const char* name : {"greet", "approve", "break"})
            ASSERT_EQ(pawl({"workflow", "create", name}).code, 0);
        ConnectOptions options;
        options.log = nullptr;
        store_.emplace(connect(url(), options));
        worker_.emplace(pawl::worker("greeter")
                            .handle("greet", greet)
                            .handle("approve", approve)
                            .handle("break", break_down)
                            .create(*store_));
    }
    std::string trigger(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.insert(arguments.begin(), "trigger");
        return std::to_string(pawl_json(std::move(arguments), input)["id"].get<int>());
    }
    std::string finished_run(std::vector<std::string> arguments) {
        const auto id = trigger(std::move(arguments));
        worker_->poll_once();
        return id;
    }
    json show(const std::string& run) const { return pawl_json({"run", "show", run}); }
    std::string failure(std::vector<std::string> arguments) const {
        return Cli(url()).failure(std::move(arguments));
    }
    std::optional<Store> store_;
    std::optional<Worker> worker_;
};

TEST_F(WorkflowCliTest, a_workflow_is_created_changed_shown_and_deleted) {
    const json made = pawl_json(
        {"workflow",
         "create",
         "zip",
         "--max-attempts",
         "5",
         "--backoff-base",
         "2s",
         "--backoff-cap",
         "1m",
         "--lease",
         "10s",
         "--run-timeout",
         "1h",
         "--max-strikes",
         "7",
         "--dead-letter-workflow",
         "break",
         "--audit",
         "all"}
    );
    EXPECT_EQ(made["max_attempts"], 5);
    EXPECT_EQ(made["backoff_base_ms"], 2000);
    EXPECT_EQ(made["backoff_cap_ms"], 60000);
    EXPECT_EQ(made["lease_ms"], 10000);
    EXPECT_EQ(made["run_timeout_ms"], 3600000);
    EXPECT_EQ(made["max_strikes"], 7);
    EXPECT_EQ(made["dead_letter_workflow"], "break");
    EXPECT_EQ(made["audit"], "all");
    const json changed =
        pawl_json({"workflow", "create", "zip", "--run-timeout", "0s", "--dead-letter-workflow", ""}
        );
    EXPECT_EQ(changed["max_attempts"], 5);
    EXPECT_TRUE(changed["run_timeout_ms"].is_null());
    EXPECT_TRUE(changed["dead_letter_workflow"].is_null());
    EXPECT_EQ(pawl_json({"workflow", "list"}).size(), 4U);
    EXPECT_TRUE(contains(pawl({"workflow", "list"}).out, "zip"));
    EXPECT_EQ(pawl_json({"workflow", "show", "zip"})["runs"]["queued"], 0);
    EXPECT_TRUE(contains(pawl({"workflow", "show", "zip"}).out, "max attempts  5"));
    EXPECT_EQ(pawl_json({"workflow", "delete", "zip"})["deleted"], true);
    EXPECT_EQ(failure({"workflow", "show", "zip"}), "workflow_not_found");
}

TEST_F(WorkflowCliTest, a_workflow_with_live_runs_stays) {
    const auto run = trigger({"greet"});
    EXPECT_EQ(failure({"workflow", "delete", "greet"}), "workflow_has_runs");
    ASSERT_EQ(pawl({"run", "cancel", run, "--reason", "enough"}).code, 0);
    EXPECT_EQ(pawl({"workflow", "delete", "greet"}).code, 0);
}

TEST_F(WorkflowCliTest, an_unknown_workflow_is_named_with_a_hint) {
    const Finished finished = pawl({"trigger", "nowhere", "1"});
    EXPECT_EQ(finished.code, 1);
    EXPECT_TRUE(contains(finished.err, "'nowhere'"));
    EXPECT_TRUE(contains(finished.err, "pawl workflow create"));
    EXPECT_EQ(failure({"workflow", "delete", "nowhere"}), "workflow_not_found");
    EXPECT_EQ(failure({"workflow", "metrics", "nowhere"}), "workflow_not_found");
    EXPECT_EQ(failure({"enqueue", "greet", "1"}), "workflow_queue");
}

TEST_F(WorkflowCliTest, a_run_is_triggered_worked_and_shown) {
    const Finished triggered = pawl({"trigger", "greet", R"({"name":"ada"})"});
    ASSERT_EQ(triggered.code, 0) << triggered.err;
    const auto id = triggered.out.substr(0, triggered.out.find('\n'));
    EXPECT_EQ(show(id)["status"], "QUEUED");
    worker_->poll_once();
    const json run = show(id);
    EXPECT_EQ(run["status"], "SUCCESS");
    EXPECT_EQ(run["input"]["name"], "ada");
    EXPECT_EQ(run["output"]["text"], "hello ada");
    EXPECT_EQ(run["delivery"], 1);
    ASSERT_EQ(run["steps"].size(), 2U);
    EXPECT_EQ(run["steps"][0]["id"], "name");
    EXPECT_EQ(run["steps"][0]["output"], "ada");
    EXPECT_EQ(run["steps"][1]["status"], "SUCCESS");
    EXPECT_EQ(run["steps"][1]["worker_id"], worker_->id().value());
    EXPECT_EQ(pawl_json({"run", "steps", id}), run["steps"]);
    const auto text = pawl({"run", "show", id}).out;
    for (const char* part : {"SUCCESS", "greeting", "greeter (", "STARTED", "hello ada"})
        EXPECT_TRUE(contains(text, part));
    EXPECT_TRUE(contains(pawl({"run", "steps", id}).out, "greeting"));
}

TEST_F(WorkflowCliTest, the_history_of_a_run_is_printed_in_order) {
    const auto bad = finished_run({"break"});
    const json told = pawl_json({"run", "history", bad});
    std::vector<std::string> kinds;
    for (const json& entry : told) kinds.push_back(entry["kind"]);
    EXPECT_EQ(
        kinds,
        (std::vector<std::string>{
            "triggered",
            "started",
            "step_started",
            "step_succeeded",
            "step_started",
            "step_failed",
            "run_failed"})
    );
    EXPECT_EQ(told[3]["step"], "fine");
    EXPECT_EQ(told[3]["data"], 1);
    EXPECT_EQ(told[3]["delivery"], 1);
    EXPECT_EQ(told[5]["text"], "step 'broken' failed in attempt 1: no such file (permanent)");
    EXPECT_TRUE(told[0]["worker_id"].is_null());
    const auto text = pawl({"run", "history", bad}).out;
    EXPECT_TRUE(contains(text, "EVENT"));
    EXPECT_TRUE(contains(text, "greeter"));
    EXPECT_TRUE(contains(text, "failed: no such file (permanent)"));
}

TEST_F(WorkflowCliTest, the_options_of_a_trigger_arrive) {
    const auto parent = trigger({"greet"});
    const auto id = trigger(
        {"greet",
         "-",
         "--priority",
         "5",
         "--delay",
         "1h",
         "--key",
         "k-1",
         "--max-attempts",
         "9",
         "--parent",
         parent,
         "--tag",
         "nightly",
         "--tag",
         "big"},
        "{\"name\":\n\"bob\"}\n"
    );
    const json run = show(id);
    EXPECT_EQ(run["input"]["name"], "bob");
    EXPECT_EQ(run["priority"], 5);
    EXPECT_EQ(run["idempotency_key"], "k-1");
    EXPECT_EQ(run["max_attempts"], 9);
    EXPECT_EQ(std::to_string(run["parent_run_id"].get<int>()), parent);
    EXPECT_EQ(run["tags"].size(), 2U);
    EXPECT_GT(run["visible_at"], run["created_at"]);
    const json again = pawl_json({"trigger", "greet", "--key", "k-1"});
    EXPECT_EQ(std::to_string(again["id"].get<int>()), id);
    EXPECT_EQ(again["created"], false);
    const auto later = trigger({"greet", "--at", "2099-01-01T00:00:00Z"});
    EXPECT_EQ(show(later)["visible_at"], "2099-01-01T00:00:00.000000Z");
    EXPECT_EQ(pawl({"trigger", "greet", "--at", "2099-01-01T00:00:00Z", "--delay", "1s"}).code, 2);
}

TEST_F(WorkflowCliTest, bad_json_changes_nothing) {
    EXPECT_EQ(failure({"trigger", "greet", "{"}), "invalid_payload");
    const Finished from_input = pawl({"trigger", "greet", "-"}, "not json");
    EXPECT_EQ(from_input.code, 1);
    EXPECT_TRUE(contains(from_input.err, "not valid JSON"));
    EXPECT_EQ(pawl_json({"run", "list"}), json::array());
    const auto id = finished_run({"approve"});
    EXPECT_EQ(failure({"run", "resume", id, "decision", "{"}), "invalid_payload");
    EXPECT_EQ(show(id)["status"], "PAUSED");
}

TEST_F(WorkflowCliTest, trigger_waits_for_the_output_and_prints_it) {
    worker_->start();
    const Finished finished = pawl({"trigger", "greet", R"({"name":"ada"})", "--wait", "30s"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(json::parse(finished.out)["text"], "hello ada");
    EXPECT_EQ(
        pawl_json({"trigger", "greet", R"({"name":"bob"})", "--wait", "30s"})["output"]["text"],
        "hello bob"
    );
}

TEST_F(WorkflowCliTest, a_wait_in_vain_still_names_the_run) {
    const Finished late = pawl({"trigger", "greet", "--wait", "10ms", "--json"});
    EXPECT_EQ(late.code, 5);
    EXPECT_EQ(json::parse(late.err)["error"], "wait_timeout");
    const auto id = std::to_string(json::parse(late.out)["id"].get<int>());
    EXPECT_EQ(show(id)["status"], "QUEUED");
    EXPECT_EQ(failure({"run", "wait", id, "--timeout", "10ms"}), "wait_timeout");
}

TEST_F(WorkflowCliTest, wait_prints_the_output_or_the_error) {
    const auto good = finished_run({"greet", R"({"name":"ada"})"});
    const Finished waited = pawl({"run", "wait", good});
    EXPECT_EQ(waited.code, 0) << waited.err;
    EXPECT_EQ(json::parse(waited.out)["text"], "hello ada");
    EXPECT_EQ(pawl_json({"run", "wait", good})["output"]["text"], "hello ada");
    const auto bad = finished_run({"break"});
    const Finished failed = pawl({"run", "wait", bad});
    EXPECT_EQ(failed.code, 3);
    EXPECT_TRUE(contains(failed.err, "pawl run retry " + bad)) << "the hint names the run";
    EXPECT_TRUE(contains(failed.err, "no such file"));
    EXPECT_EQ(failure({"run", "wait", bad}), "execution_failed");
}

TEST_F(WorkflowCliTest, lists_and_counts_take_filters) {
    const auto good = finished_run({"greet", "--tag", "nightly", "--key", "one"});
    const auto bad = finished_run({"break"});
    const auto open = trigger({"greet"});
    EXPECT_EQ(pawl_json({"run", "list"}).size(), 3U);
    EXPECT_EQ(std::to_string(pawl_json({"run", "list"})[0]["id"].get<int>()), open);
    EXPECT_EQ(pawl_json({"run", "list", "--workflow", "greet"}).size(), 2U);
    EXPECT_EQ(pawl_json({"run", "list", "--status", "error"})[0]["workflow"], "break");
    EXPECT_EQ(pawl_json({"run", "list", "--tag", "nightly"}).size(), 1U);
    EXPECT_EQ(pawl_json({"run", "list", "--key", "one"}).size(), 1U);
    EXPECT_EQ(pawl_json({"run", "list", "--until", "2020-01-01T00:00:00Z"}), json::array());
    EXPECT_EQ(pawl_json({"run", "list", "--since", "2020-01-01T00:00:00Z"}).size(), 3U);
    EXPECT_EQ(pawl_json({"run", "list", "--before", bad}).size(), 1U);
    const Finished page = pawl({"run", "list", "--limit", "1"});
    EXPECT_TRUE(contains(page.err, "--before " + open));
    EXPECT_TRUE(contains(pawl({"run", "list"}).out, "no such file"));
    const json counts = pawl_json({"run", "count"});
    EXPECT_EQ(counts["success"], 1);
    EXPECT_EQ(counts["error"], 1);
    EXPECT_EQ(counts["queued"], 1);
    EXPECT_EQ(pawl_json({"run", "count", "--workflow", "break"})["queued"], 0);
    EXPECT_TRUE(contains(pawl({"run", "count", "--status", "SUCCESS"}).out, "SUCCESS"));
    EXPECT_EQ(pawl_json({"stats"})["runs"], counts);
    EXPECT_EQ(pawl({"run", "list", "--status", "happy"}).code, 2);
}

TEST_F(WorkflowCliTest, metrics_are_of_the_window) {
    finished_run({"greet"});
    const json metrics = pawl_json({"workflow", "metrics", "greet", "--window", "10m"});
    EXPECT_EQ(metrics["succeeded"], 1);
    EXPECT_EQ(metrics["success_rate"], 1.0);
    EXPECT_EQ(metrics["window_ms"], 600000);
    EXPECT_FALSE(metrics["p99_duration_ms"].is_null());
    EXPECT_TRUE(contains(pawl({"workflow", "metrics", "greet"}).out, "100.0% success"));
}

TEST_F(WorkflowCliTest, a_paused_run_continues_with_the_data_of_resume) {
    const auto id = finished_run({"approve", "7"});
    EXPECT_EQ(show(id)["status"], "PAUSED");
    EXPECT_TRUE(contains(pawl({"run", "show", id}).out, "a person has to decide"));
    const Finished resumed = pawl({"run", "resume", id, "decision", "-"}, "{\"ok\":true}\n");
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    worker_->poll_once();
    EXPECT_EQ(show(id)["output"], (json{{"input", 7}, {"answer", {{"ok", true}}}}));
    EXPECT_EQ(failure({"run", "resume", id, "decision", "1"}), "run_finished");
}

TEST_F(WorkflowCliTest, a_resume_of_a_mistyped_step_is_refused_and_early_ones_are_kept) {
    const auto id = finished_run({"approve", "7"});
    const Finished refused = pawl({"run", "resume", id, "decison"});
    EXPECT_NE(refused.code, 0);
    EXPECT_TRUE(contains(refused.err, "the run waits at step 'decision'"));
    EXPECT_TRUE(contains(refused.err, "did you mean 'decision'?"));
    EXPECT_TRUE(contains(refused.err, "--early"));
    EXPECT_EQ(failure({"run", "resume", id, "decison"}), "step_not_waiting");
    const Finished kept = pawl({"run", "resume", id, "later", "1", "--early"});
    EXPECT_EQ(kept.code, 0) << kept.err;
    EXPECT_EQ(kept.out, "kept until run " + id + " pauses at step later\n");
    const Finished resumed = pawl({"run", "resume", id, "decision", "1", "--early"});
    EXPECT_EQ(resumed.out, "step decision of run " + id + " has its result\n");
}

TEST_F(WorkflowCliTest, worker_commands_report_the_resulting_status) {
    const auto id = std::to_string(worker_->id().value());
    const Finished asked = pawl({"worker", "suspend", id});
    EXPECT_EQ(asked.code, 0) << asked.err;
    EXPECT_TRUE(
        contains(asked.out, "suspend requested; takes effect at the worker's next heartbeat")
    );
    const Finished obeyed = pawl({"worker", "stop", id, "--wait"});
    EXPECT_EQ(obeyed.code, 0) << obeyed.err;
    EXPECT_TRUE(contains(obeyed.out, "is STOPPED"));
    EXPECT_EQ(worker_->status(), WorkerStatus::stopped);
}

TEST_F(WorkflowCliTest, a_step_gets_its_result_once) {
    const auto id = finished_run({"approve"});
    EXPECT_EQ(failure({"run", "resume", id, "prepare"}), "step_finished");
    ASSERT_EQ(pawl({"run", "resume", id, "decision"}).code, 0);
    EXPECT_EQ(failure({"run", "resume", id, "decision"}), "step_finished");
}

TEST_F(WorkflowCliTest, wake_ends_a_delay) {
    const auto id = trigger({"greet", "--delay", "1h"});
    EXPECT_EQ(worker_->poll_once(), 0);
    EXPECT_EQ(pawl({"run", "wake", id}).code, 0);
    EXPECT_EQ(worker_->poll_once(), 1);
    EXPECT_EQ(show(id)["status"], "SUCCESS");
    EXPECT_EQ(failure({"run", "wake", id}), "run_finished");
}

TEST_F(WorkflowCliTest, cancel_is_final_and_keeps_its_reason) {
    const auto id = trigger({"greet"});
    EXPECT_EQ(pawl({"run", "cancel", id}).code, 2) << "a reason is wanted";
    EXPECT_EQ(pawl_json({"run", "cancel", id, "--reason", "too dear"})["status"], "CANCELLED");
    const json run = show(id);
    EXPECT_EQ(run["error"]["message"], "too dear");
    EXPECT_EQ(run["events"][0]["kind"], "cancelled");
    EXPECT_EQ(failure({"run", "cancel", id, "--reason", "again"}), "run_finished");
    EXPECT_EQ(failure({"run", "wait", id}), "run_cancelled");
}

TEST_F(WorkflowCliTest, the_exit_code_of_a_wait_depends_on_the_end_of_the_run) {
    const auto code = [&](const std::vector<std::string>& command) { return pawl(command).code; };
    EXPECT_EQ(code({"run", "wait", finished_run({"greet"})}), 0);
    EXPECT_EQ(code({"run", "wait", finished_run({"break"})}), 3);
    const auto cancelled = trigger({"greet"});
    ASSERT_EQ(code({"run", "cancel", cancelled, "--reason", "no"}), 0);
    const Finished waited = pawl({"run", "wait", cancelled});
    EXPECT_EQ(waited.code, 4);
    EXPECT_TRUE(contains(waited.err, "run " + cancelled + " was cancelled: no\n")) << waited.err;
    EXPECT_EQ(code({"run", "wait", trigger({"greet"}), "--timeout", "10ms"}), 5);
    EXPECT_EQ(code({"trigger", "greet", "--wait", "10ms"}), 5);
    EXPECT_EQ(code({"run", "wait", "99"}), 6);
    EXPECT_EQ(code({"trigger", "nowhere", "--wait", "10ms"}), 1);
    EXPECT_EQ(run({PAWL_COMMAND, "--url", "sqlite:/no/such/file", "run", "wait", "1"}).code, 7);
}

TEST_F(WorkflowCliTest, retry_and_fork_make_relatives) {
    const auto bad = finished_run({"break"});
    const Finished retried = pawl({"run", "retry", bad});
    ASSERT_EQ(retried.code, 0) << retried.err;
    const auto second = retried.out.substr(0, retried.out.find('\n'));
    EXPECT_EQ(std::to_string(show(second)["origin_run_id"].get<int>()), bad);
    EXPECT_EQ(show(second)["steps"][0]["delivery"], 0) << "taken over";
    EXPECT_TRUE(contains(pawl({"run", "show", second}).out, "taken over"));
    const json forked = pawl_json({"run", "fork", bad, "fine"});
    EXPECT_EQ(forked["forked_at"], "fine");
    EXPECT_EQ(show(bad)["lineage"].size(), 3U);
    const auto text = pawl({"run", "show", bad}).out;
    EXPECT_TRUE(contains(text, "retry of " + bad));
    EXPECT_TRUE(contains(text, "fork of " + bad + " at fine"));
    EXPECT_EQ(failure({"run", "fork", bad, "nowhere"}), "step_not_found");
    EXPECT_EQ(failure({"run", "retry", finished_run({"greet"})}), "run_not_failed");
}

TEST_F(WorkflowCliTest, a_deleted_run_is_hidden_unless_asked_for) {
    const auto id = trigger({"greet", "--key", "one"});
    EXPECT_EQ(pawl({"run", "delete", id}).code, 2) << "a reason is wanted";
    EXPECT_EQ(pawl_json({"run", "delete", id, "--reason", "a test"})["deleted_reason"], "a test");
    EXPECT_EQ(pawl_json({"run", "list"}), json::array());
    EXPECT_EQ(pawl_json({"run", "list", "--deleted"}).size(), 1U);
    EXPECT_TRUE(contains(pawl({"run", "list", "--deleted"}).out, "deleted: a test"));
    EXPECT_EQ(failure({"run", "delete", id, "--reason", "again"}), "run_deleted");
    EXPECT_EQ(failure({"run", "wait", id}), "run_deleted");
    EXPECT_NE(trigger({"greet", "--key", "one"}), id);
}

TEST_F(WorkflowCliTest, an_unknown_run_is_not_found_by_any_command) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"run", "show", "99"},
             {"run", "steps", "99"},
             {"run", "history", "99"},
             {"run", "wait", "99"},
             {"run", "resume", "99", "step"},
             {"run", "cancel", "99", "--reason", "x"},
             {"run", "wake", "99"},
             {"run", "retry", "99"},
             {"run", "fork", "99", "step"},
             {"run", "delete", "99", "--reason", "x"}})
        EXPECT_EQ(failure(command), "run_not_found") << command[1];
    EXPECT_EQ(pawl({"run", "show", "many"}).code, 2);
    EXPECT_EQ(pawl({"run", "show"}).code, 2);
}

TEST_F(WorkflowCliTest, the_completion_lists_the_commands) {
    const auto script = pawl({"completion", "bash"}).out;
    for (const char* part : {"' workflow metrics'", "' trigger'", "' run fork'", "CANCELLED"})
        EXPECT_TRUE(contains(script, part));
}

TEST(Demo, a_killed_worker_is_followed_by_one_that_repeats_no_finished_step) {
    const Finished finished = run({PAWL_COMMAND, "demo"});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_EQ(finished.err, "");
    for (const char* part :
         {"worker-1   reserve  runs\n",
          "worker-1   charge   runs\n",
          "worker-1   pack     runs\n",
          "with SIGKILL in pack",
          "worker-2   reserve  recorded\n",
          "worker-2   charge   recorded\n",
          "worker-2   pack     runs again\n",
          "worker-2   ship     runs\n",
          "SUCCESS",
          "No finished step was executed again"})
        EXPECT_TRUE(contains(finished.out, part));
}

TEST(Demo, its_json_holds_the_timeline) {
    const Finished finished = run({PAWL_COMMAND, "demo", "--json"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    const json report = json::parse(finished.out);
    EXPECT_EQ(report["ok"], true);
    EXPECT_EQ(report["status"], "SUCCESS");
    ASSERT_EQ(report["steps"].size(), 4U);
    EXPECT_EQ(report["steps"][1]["delivery"], 1);
    EXPECT_EQ(report["steps"][2]["delivery"], 2);
    EXPECT_NE(report["steps"][1]["worker_id"], report["steps"][2]["worker_id"]);
    EXPECT_EQ(report["lines"].size(), 7U);
}

}  // namespace
}  // namespace pawl::test
