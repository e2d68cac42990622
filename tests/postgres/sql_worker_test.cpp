// The workers of examples/sql, which use only SQL.
#include <csignal>

#include "support/process.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SqlWorkerTest : public WorkflowTest {
protected:
    // Debian's Python, because Debian packages a driver for it.
    [[nodiscard]] Process start_python() const {
        return start({"/usr/bin/python3", example("worker.py")});
    }
    [[nodiscard]] Process start_bash() const { return start({"bash", example("worker.sh")}); }
    static void stop(Process& worker) {
        worker.signal(SIGTERM);
        EXPECT_EQ(worker.wait(), 0);
    }
    [[nodiscard]] Run triggered(const std::string& name, const std::string& input) const {
        return store().run(trigger(name, Json{input}));
    }
    // The error message of a failed run.
    [[nodiscard]] model::RunError failure_of(const Run& run) const {
        EXPECT_EQ(error_of([&] { (void)run.wait_json(40s); }).code(), ErrorCode::execution_failed);
        return error_in(run.info().error);
    }

private:
    static std::string example(const std::string& name) {
        return std::string(PAWL_SOURCE_DIR) + "/examples/sql/" + name;
    }
    [[nodiscard]] Process start(std::vector<std::string> command) const {
        command.push_back(place().server_url());
        command.push_back(place().schema());
        Process process(std::move(command));
        EXPECT_EQ(process.read_line(), "ready");
        return process;
    }
};
INSTANTIATE_TEST_SUITE_P(, SqlWorkerTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SqlWorkerTest, python_executes_a_run_and_records_its_steps) {
    make_workflow("order");
    Process worker = start_python();
    const Run run = triggered("order", R"({"count":2})");
    EXPECT_EQ(
        run.wait_json(40s).text,
        R"({"total": 24, "parcel": "parcel-)" + std::to_string(run.id().value()) + "\"}"
    );
    EXPECT_EQ(step_ids(run.id()), (std::vector<std::string>{"price", "ship"}));
    stop(worker);
    const auto workers = store().workers();
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].name, "python");
    EXPECT_EQ(workers[0].status, WorkerStatus::stopped);
    EXPECT_EQ(run.info().worker, workers[0].id);
}

TEST_P(SqlWorkerTest, python_retries_a_step_and_does_not_repeat_the_ones_before) {
    make_workflow("order", {.backoff_base = Duration(1)});
    Process worker = start_python();
    const Run run = triggered("order", R"({"count":1,"carrier":"asleep"})");
    (void)run.wait_json(40s);
    EXPECT_EQ(step(run.id(), "price").attempt, 1);
    EXPECT_EQ(step(run.id(), "ship").attempt, 2);
    EXPECT_EQ(event_kinds(run.id()), "step_retry");
    stop(worker);
}

TEST_P(SqlWorkerTest, python_fails_runs_immediately_or_when_their_attempts_are_used_up) {
    make_workflow("order", {.max_attempts = 2, .backoff_base = Duration(1)});
    Process worker = start_python();
    const Run permanent = triggered("order", R"({"count":0})");
    const Run odd = triggered("order", "{}");
    EXPECT_EQ(failure_of(permanent).message, "count must be positive");
    EXPECT_EQ(failure_of(permanent).type, "permanent");
    EXPECT_EQ(failure_of(odd).type, "transient");
    EXPECT_EQ(odd.info().delivery, 2);
    stop(worker);
}

TEST_P(SqlWorkerTest, python_pauses_until_the_run_is_resumed) {
    make_workflow("order");
    Process worker = start_python();
    const Run run = triggered("order", R"({"count":100})");
    EXPECT_TRUE(eventually([&] { return status(run.id()) == RunStatus::paused; }));
    EXPECT_EQ(step(run.id(), "approve").pause_message, "who approves 1200?");
    database()->run(
        "select " + place().schema() + ".signal(" + std::to_string(run.id().value()) +
        ", 'approve', '\"yes\"')"
    );
    (void)run.wait_json(40s);
    EXPECT_EQ(step_ids(run.id()), (std::vector<std::string>{"price", "approve", "ship"}));
    stop(worker);
}

// A worker that claimed a run, recorded one step of it, and crashed.
TEST_P(SqlWorkerTest, python_takes_over_what_another_has_begun) {
    make_workflow("order");
    const Run run = triggered("order", R"({"count":2})");
    const std::string schema = place().schema();
    const std::string id = std::to_string(run.id().value());
    const auto other = database();
    other->run(
        "select " + schema + ".claim_runs(" + schema +
        ".workflow_ids(array['order']), 1, lease_ms => 1000)"
    );
    other->run(
        "select " + schema + ".record_steps(array[" + id +
        "]::bigint[], array[1], array['price'], array[1], array['SUCCESS'], array[1], outputs => "
        "array['99'])"
    );
    other->run(
        "select " + schema + ".extend(array[" + id + "]::bigint[], array[1], array[0]::bigint[])"
    );
    Process worker = start_python();
    EXPECT_TRUE(contains(run.wait_json(40s).text, "\"total\": 99")) << "the recorded one counts";
    EXPECT_EQ(
        other->value(
            "select " + schema + ".finish_runs(array[" + id + "]::bigint[], array[1], array['1'])"
        ),
        "({lease_lost},)"
    );
    stop(worker);
}

TEST_P(SqlWorkerTest, bash_executes_a_run_and_records_its_step) {
    make_workflow("greet");
    Process worker = start_bash();
    const Run run = triggered("greet", R"({"name":"Ada '\" \\ \n $(id) :x"})");
    EXPECT_EQ(run.wait_json(40s).text, R"("hello Ada '\" \\ \n $(id) :x")");
    EXPECT_EQ(step_ids(run.id()), std::vector<std::string>{"compose"});
    stop(worker);
    EXPECT_EQ(store().workers()[0].status, WorkerStatus::stopped);
}

TEST_P(SqlWorkerTest, bash_retries_until_the_attempts_are_used_up) {
    make_workflow("greet", {.max_attempts = 2, .backoff_base = Duration(1)});
    Process worker = start_bash();
    const Run run = triggered("greet", "{}");
    EXPECT_EQ(failure_of(run).message, "the input has no name");
    EXPECT_EQ(run.info().delivery, 2);
    EXPECT_EQ(event_kinds(run.id()), "run_retry");
    stop(worker);
}

TEST_P(SqlWorkerTest, bash_takes_over_what_another_has_begun) {
    make_workflow("greet");
    const RunId id = trigger("greet", Json{R"({"name":"Ada"})"});
    const Held held = claim_one("greet");
    commit(checkpoint(held.lease(), "compose", 1, "\"recorded\""));
    EXPECT_EQ(store().queue("greet").extend(held.message, Duration(1)), Outcome::done);
    Process worker = start_bash();
    EXPECT_EQ(store().run(id).wait_json(40s).text, "\"recorded\"");
    stop(worker);
}

}  // namespace
}  // namespace pawl::test
