// Errors that name the object and the command that helps.
#include "cli/store_cli_fixture.h"

namespace pawl::test {
namespace {

class HintsCliTest : public StoreCliTest {
protected:
    void SetUp() override {
        ASSERT_EQ(pawl({"install"}).code, 0);
        ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
        ASSERT_EQ(pawl({"workflow", "create", "invoice"}).code, 0);
        ASSERT_EQ(pawl({"flow", "create", "album"}).code, 0);
        ASSERT_EQ(pawl({"schedule", "create", "nightly", "invoice", "@daily"}).code, 0);
    }
    // What a command that must fail says.
    [[nodiscard]] std::string complaint(std::vector<std::string> arguments) const {
        const Finished finished = pawl(std::move(arguments));
        EXPECT_TRUE(finished.code == 1 || finished.code == 2) << finished.out;
        EXPECT_EQ(finished.out, "");
        return finished.err;
    }
};

TEST_P(HintsCliTest, an_unknown_name_gets_a_similar_one) {
    const auto similar = [&](const std::vector<std::string>& command, const std::string& name) {
        EXPECT_TRUE(contains(complaint(command), "did you mean '" + name + "'?")) << command[0];
    };
    similar({"trigger", "invioce"}, "invoice");
    similar({"workflow", "show", "invoices"}, "invoice");
    similar({"workflow", "pause", "invioce"}, "invoice");
    similar({"enqueue", "mial", "1"}, "mail");
    similar({"flow", "start", "albun"}, "album");
    similar({"schedule", "show", "nightli"}, "nightly");
    similar({"run", "list", "--workflow", "invioce"}, "invoice");
    similar({"run", "count", "--workflow", "invioce"}, "invoice");
    EXPECT_EQ(cli().failure({"run", "list", "--workflow", "nope"}), "workflow_not_found");
    const auto unknown = complaint({"enqueue", "something_else", "1"});
    EXPECT_TRUE(contains(unknown, "run: pawl queue create something_else")) << unknown;
}

TEST_P(HintsCliTest, an_unknown_status_lists_the_words) {
    const auto run = complaint({"run", "list", "--status", "failed"});
    EXPECT_TRUE(contains(run, "is not one of QUEUED, RUNNING, PAUSED, SUCCESS, ERROR, CANCELLED"));
    EXPECT_TRUE(contains(complaint({"message", "list", "mail", "--state", "x"}), "ready, waiting"));
    EXPECT_TRUE(contains(complaint({"outbox", "list", "--status", "x"}), "PENDING, PUBLISHED"));
    EXPECT_EQ(pawl({"run", "list", "--status", "error"}).code, 0);
}

TEST_P(HintsCliTest, the_queue_of_a_workflow_names_the_right_command) {
    const auto hint = [&](std::vector<std::string> command, const std::string& instead) {
        const auto said = complaint(std::move(command));
        EXPECT_TRUE(contains(said, instead)) << said;
        EXPECT_FALSE(contains(said, " ID")) << said;
    };
    hint({"queue", "delete", "invoice"}, "pawl workflow delete invoice");
    hint({"queue", "create", "invoice"}, "pawl workflow create invoice");
    hint({"queue", "purge", "invoice", "--yes"}, "pawl run list --workflow invoice");
    hint({"enqueue", "invoice", "1"}, "pawl trigger invoice JSON");
    hint({"dequeue", "invoice"}, "pawl run list --workflow invoice");
    hint({"queue", "delete", "album"}, "pawl flow delete album");
    hint({"enqueue", "album", "1"}, "pawl flow start album JSON");
}

TEST_P(HintsCliTest, a_workflow_is_not_started_as_a_flow) {
    const auto said = complaint({"flow", "start", "invoice"});
    EXPECT_TRUE(contains(said, "'invoice' is a workflow, not a flow")) << said;
    EXPECT_TRUE(contains(said, "pawl trigger invoice JSON"));
    EXPECT_EQ(cli().failure({"flow", "start", "invoice"}), "flow_not_found");
}

TEST_P(HintsCliTest, a_paused_queue_says_so) {
    ASSERT_EQ(pawl({"enqueue", "mail", "1"}).code, 0);
    ASSERT_EQ(pawl({"queue", "pause", "mail"}).code, 0);
    const Finished paused = pawl({"dequeue", "mail"});
    EXPECT_EQ(paused.code, 0);
    EXPECT_TRUE(contains(paused.err, "queue mail is paused")) << paused.err;
    EXPECT_TRUE(contains(paused.err, "pawl queue resume mail"));
    const std::string waiting = pawl({"dequeue", "mail", "--wait", "1ms"}).err;
    EXPECT_TRUE(waiting.starts_with("waiting, but queue mail is paused")) << waiting;
    ASSERT_EQ(pawl({"queue", "resume", "mail"}).code, 0);
    EXPECT_EQ(cli().json({"dequeue", "mail", "--archive"}).size(), 1U);
    EXPECT_TRUE(contains(pawl({"dequeue", "mail"}).err, "no message is ready"));
}

TEST_P(HintsCliTest, settle_says_why_nothing_was_changed) {
    const auto unknown = complaint({"settle", "archive", "mail", "4711", "1"});
    EXPECT_TRUE(contains(unknown, "queue 'mail' has no message 4711")) << unknown;
    const auto id = cli().json({"enqueue", "mail", "1"})["ids"][0].dump();
    (void)cli().json({"dequeue", "mail"});
    const auto old = complaint({"settle", "archive", "mail", id, "7"});
    EXPECT_TRUE(contains(old, "the current one is 1")) << old;
    EXPECT_TRUE(contains(old, "pawl message get mail " + id));
    ASSERT_EQ(pawl({"settle", "archive", "mail", id, "1"}).code, 0);
    EXPECT_TRUE(contains(complaint({"settle", "archive", "mail", id, "1"}), "is settled already"));
    const Finished as_json = pawl({"settle", "archive", "mail", "4711", "1", "--json"});
    EXPECT_EQ(as_json.code, 1);
    EXPECT_EQ(nlohmann::json::parse(as_json.out)["outcome"], "lease_lost");
    EXPECT_TRUE(contains(nlohmann::json::parse(as_json.out)["reason"], "has no message 4711"));
}

TEST_P(HintsCliTest, hints_have_the_number_of_the_run) {
    const auto id = cli().json({"trigger", "invoice"})["id"].dump();
    ASSERT_EQ(pawl({"run", "cancel", id, "--reason", "no"}).code, 0);
    const auto said = complaint({"run", "cancel", id, "--reason", "no"});
    EXPECT_TRUE(contains(said, "pawl run retry " + id)) << said;
    const auto started = cli().json({"flow", "start", "album"})["id"].dump();
    const auto report = complaint({"flow", "complete", started, "nope", "1"});
    EXPECT_TRUE(contains(report, "pawl flow show " + started)) << report;
}

TEST_P(HintsCliTest, a_run_that_succeeded_cannot_be_retried) {
    const auto id = cli().json({"flow", "start", "album"})["id"].dump();  // it has no steps
    ASSERT_EQ(cli().json({"run", "show", id})["status"], "SUCCESS");
    const auto said = complaint({"run", "cancel", id, "--reason", "no"});
    EXPECT_TRUE(contains(said, "fork it, or retry it if it failed or was cancelled")) << said;
    EXPECT_TRUE(contains(said, "pawl run fork " + id)) << said;
    EXPECT_FALSE(contains(said, "pawl run retry")) << said;
}

TEST_P(HintsCliTest, hints_name_the_object_that_the_error_is_about) {
    ASSERT_EQ(pawl({"flow", "add-step", "album", "a"}).code, 0);
    const auto step = complaint({"flow", "add-step", "album", "a", "--timeout", "3s"});
    EXPECT_TRUE(contains(step, "pawl flow shape album")) << step;
    const auto archive = complaint({"retention", "set", "archive", "invoice", "--age", "1d"});
    EXPECT_TRUE(contains(archive, "pawl retention set success invoice")) << archive;
    const auto purge = complaint({"queue", "purge", "invoice", "--yes"});
    EXPECT_TRUE(contains(purge, "cancel its runs instead")) << purge;
}

TEST_P(HintsCliTest, the_url_of_a_file_has_hints_about_files) {
    const auto said = [](const std::string& url) { return Cli(url).run({"stats"}, "").err; };
    for (const char* url : {"sqlite:/tmp", "sqlite:/nope/x.db"}) {
        const auto missing = said(url);
        EXPECT_TRUE(contains(missing, "check the path in --url")) << missing;
        EXPECT_FALSE(contains(missing, "can be reached")) << missing;
    }
    const auto parameter = said("sqlite:demo.db?foo=1");
    EXPECT_TRUE(contains(parameter, "unknown parameter 'foo'")) << parameter;
    EXPECT_FALSE(contains(parameter, "--url")) << parameter;
}

TEST_P(HintsCliTest, a_group_needs_a_command) {
    const auto said = complaint({"queue"});
    EXPECT_TRUE(contains(said, "pawl queue needs a command: create, list")) << said;
}

TEST_P(HintsCliTest, an_invalid_command_line_is_explained_in_plain_words) {
    const auto value = complaint({"dequeue", "mail", "--max"});
    EXPECT_TRUE(contains(value, "pawl: --max needs a value\n")) << value;
    const auto both = complaint({"enqueue", "mail", "1", "--delay", "1s", "--at", "1h"});
    EXPECT_TRUE(contains(both, "give only one of --delay and --at")) << both;
    EXPECT_TRUE(contains(complaint({"enqueue", "mail", "1", "2", "3"}), "arguments: 2 3"));
}

TEST_P(HintsCliTest, a_workflow_is_paused_and_resumed) {
    EXPECT_EQ(cli().json({"workflow", "pause", "invoice"})["paused"], true);
    EXPECT_EQ(cli().json({"workflow", "show", "invoice"})["paused"], true);
    EXPECT_EQ(cli().json({"workflow", "pause", "album"})["paused"], true);
    const auto id = cli().json({"trigger", "invoice"})["id"].dump();
    const std::string wait = pawl({"run", "wait", id, "--timeout", "1ms"}).err;
    EXPECT_TRUE(contains(wait, "it is QUEUED: workflow 'invoice' is paused")) << wait;
    EXPECT_TRUE(contains(wait, "pawl workflow resume invoice")) << wait;
    const Finished doctor = pawl({"doctor"});
    EXPECT_TRUE(contains(doctor.out, "pawl workflow resume invoice")) << doctor.out;
    EXPECT_EQ(cli().json({"workflow", "resume", "invoice"})["paused"], false);
    EXPECT_EQ(cli().failure({"workflow", "pause", "mail"}), "workflow_not_found");
}

PAWL_FOR_EACH_BACKEND(HintsCliTest);

}  // namespace
}  // namespace pawl::test
