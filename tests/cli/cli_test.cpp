// The commands of the queue and the store.
#include <filesystem>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

class CliTest : public CliFixture {
protected:
    void install() const {
        ASSERT_EQ(pawl({"install"}).code, 0);
        ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    }
};

TEST_F(CliTest, a_message_makes_the_round_trip) {
    install();
    const Finished enqueued = pawl({"enqueue", "mail", R"({"to":"ada"})"});
    EXPECT_EQ(enqueued.code, 0) << enqueued.err;
    EXPECT_EQ(enqueued.out, "1\n");
    const json got = pawl_json({"dequeue", "mail"});
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0]["id"], 1);
    EXPECT_EQ(got[0]["delivery"], 1);
    EXPECT_EQ(got[0]["state"], "leased");
    EXPECT_EQ(got[0]["payload"]["to"], "ada");
    EXPECT_EQ(pawl_json({"settle", "archive", "mail", "1", "1"})["outcome"], "done");
    EXPECT_EQ(pawl({"settle", "archive", "mail", "1", "1"}).code, 1) << "it came too late";
    EXPECT_EQ(pawl_json({"archive", "list", "mail"})[0]["state"], "archived");
    EXPECT_EQ(pawl_json({"archive", "replay", "mail", "1"})["replayed"], 1);
    EXPECT_EQ(pawl_json({"queue", "stats", "mail"})["ready"], 1);
}

TEST_F(CliTest, the_messages_of_runs_and_of_other_queues_are_left_alone) {
    install();
    ASSERT_EQ(pawl({"workflow", "create", "job"}).code, 0);
    ASSERT_EQ(pawl({"trigger", "job", "1"}).code, 0);
    ASSERT_EQ(pawl({"queue", "create", "other"}).code, 0);
    const Cli cli(url());
    EXPECT_EQ(cli.failure({"dequeue", "job"}), "workflow_queue");
    EXPECT_EQ(cli.failure({"settle", "archive", "job", "1", "0"}), "workflow_queue");
    EXPECT_EQ(cli.failure({"settle", "remove", "job", "1", "0"}), "workflow_queue");
    EXPECT_EQ(cli.failure({"settle", "fail", "job", "1", "0"}), "workflow_queue");
    EXPECT_EQ(pawl_json({"message", "get", "job", "1"})["state"], "ready");
    const json id = pawl_json({"enqueue", "mail", "1"})["ids"][0];
    (void)pawl_json({"dequeue", "mail"});
    const Finished wrong = pawl({"settle", "archive", "other", id.dump(), "1"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_TRUE(contains(wrong.err, "is not in queue 'other'"));
    EXPECT_EQ(cli.failure({"settle", "archive", "nope", id.dump(), "1"}), "queue_not_found");
    EXPECT_EQ(pawl_json({"settle", "archive", "mail", id.dump(), "1"})["outcome"], "done");
}

TEST_F(CliTest, an_empty_dequeue_is_not_a_failure) {
    install();
    EXPECT_EQ(pawl_json({"dequeue", "mail"}), json::array());
}

TEST_F(CliTest, lines_of_a_file_become_messages) {
    install();
    const json ids = pawl_json({"enqueue", "mail", "--file", "-"}, "1\n\n{\"a\":2}\n[3]\n");
    EXPECT_EQ(ids["ids"].size(), 3U);
    const Finished bad = pawl({"enqueue", "mail", "--file", "-"}, "1\n{\n");
    EXPECT_EQ(bad.code, 1);
    EXPECT_TRUE(contains(bad.err, "line 2"));
    EXPECT_EQ(pawl_json({"queue", "stats", "mail"})["ready"], 3);
}

TEST_F(CliTest, every_json_output_parses) {
    install();
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"install"},
             {"verify"},
             {"queue", "list"},
             {"queue", "stats"},
             {"queue", "pause", "mail"},
             {"queue", "resume", "mail"},
             {"message", "list", "mail"},
             {"archive", "list", "mail"},
             {"worker", "list"},
             {"stats"},
             {"queue", "purge", "mail", "--yes"},
             {"queue", "delete", "mail"}})
        EXPECT_FALSE(pawl_json(command).is_discarded()) << command.front();
}

TEST_F(CliTest, a_failure_is_exit_code_1_and_speaks_on_standard_error) {
    const Finished early = pawl({"queue", "list"});
    EXPECT_EQ(early.code, 1);
    EXPECT_EQ(early.out, "");
    EXPECT_TRUE(contains(early.err, "pawl install"));
    install();
    const Finished unknown = pawl({"enqueue", "nowhere", "1"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_TRUE(contains(unknown.err, "'nowhere'"));
    const Finished invalid = pawl({"enqueue", "mail", "{"});
    EXPECT_EQ(invalid.code, 1);
    EXPECT_TRUE(contains(invalid.err, "JSON"));
}

TEST_F(CliTest, errors_are_json_if_json_was_requested) {
    install();
    const Finished finished = pawl({"enqueue", "nowhere", "1", "--json"});
    EXPECT_EQ(finished.code, 1);
    EXPECT_EQ(json::parse(finished.err)["error"], "queue_not_found");
}

TEST_F(CliTest, a_command_line_that_makes_no_sense_is_exit_code_2) {
    EXPECT_EQ(pawl({"dance"}).code, 2);
    EXPECT_EQ(pawl({"enqueue"}).code, 2);
    EXPECT_EQ(pawl({"dequeue", "mail", "--max", "many"}).code, 2);
    EXPECT_EQ(pawl({"queue", "create", "mail", "--lease", "soon"}).code, 2);
}

TEST_F(CliTest, help_and_version_are_on_standard_output) {
    EXPECT_EQ(pawl({"--help"}).code, 0);
    EXPECT_TRUE(contains(pawl({"--help"}).out, "enqueue"));
    EXPECT_TRUE(contains(pawl({"--version"}).out, "0.1.0"));
}

TEST_F(CliTest, verify_fails_with_a_list) {
    install();
    EXPECT_EQ(pawl({"verify"}).code, 0);
    open_sqlite_database(directory_.file("cli.db"))->run("drop index pawl_messages_ready");
    const Finished finished = pawl({"verify"});
    EXPECT_EQ(finished.code, 1);
    EXPECT_TRUE(contains(finished.out + finished.err, "pawl_messages_ready"));
}

TEST_F(CliTest, install_reports_what_it_repaired) {
    install();
    const auto database = open_sqlite_database(directory_.file("cli.db"));
    database->run("drop index pawl_messages_ready");
    const Finished repaired = pawl({"install"});
    EXPECT_EQ(repaired.code, 0);
    EXPECT_TRUE(contains(repaired.out, "index pawl_messages_ready is missing: restored\n"));
    EXPECT_EQ(repaired.err, "");
    EXPECT_EQ(pawl_json({"install"})["repaired"], json::array());
    database->run("drop table pawl_signals");
    const Finished lost = pawl({"install"});
    EXPECT_EQ(lost.code, 1);
    EXPECT_TRUE(contains(lost.out, "table pawl_signals is missing: cannot be restored"));
}

TEST_F(CliTest, reading_creates_no_store) {
    EXPECT_EQ(pawl({"stats"}).code, 1);
    EXPECT_EQ(pawl({"verify"}).code, 1);
    EXPECT_FALSE(std::filesystem::exists(directory_.file("cli.db")));
}

TEST_F(CliTest, a_mistyped_word_gets_a_suggestion) {
    const Finished command = pawl({"queue", "crate", "mail"});
    EXPECT_EQ(command.code, 2);
    EXPECT_TRUE(contains(command.err, "crate; did you mean create?")) << command.err;
    const Finished option = pawl({"enqueue", "mail", "1", "--prioritiy", "3"});
    EXPECT_TRUE(contains(option.err, "did you mean --priority?")) << option.err;
    EXPECT_FALSE(contains(pawl({"dance"}).err, "did you mean"));
}

TEST_F(CliTest, unexpected_arguments_are_named_in_their_order) {
    const Finished finished = pawl({"stats", "one", "two"});
    EXPECT_EQ(finished.code, 2);
    EXPECT_TRUE(contains(finished.err, "unexpected arguments: one two")) << finished.err;
}

TEST_F(CliTest, hints_name_the_object) {
    install();
    const Finished finished = pawl({"enqueue", "nowhere", "1"});
    EXPECT_TRUE(contains(finished.err, "pawl queue create nowhere")) << finished.err;
}

TEST_F(CliTest, a_url_in_the_wrong_place_is_shown_without_its_password) {
    install();
    const std::string url = "postgresql://a:s3cr3t@h/db";
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {url},
             {"stats", url},
             {"queue", url},
             {"queue", "create", url},
             {"enqueue", url, "1"},
             {"trigger", url},
             {"--ulr=" + url, "stats"},
             {"dequeue", "mail", "--max", url}}) {
        const Finished finished = pawl(command);
        EXPECT_NE(finished.code, 0);
        EXPECT_EQ((finished.out + finished.err).find("s3cr3t"), std::string::npos) << finished.err;
    }
}

TEST_F(CliTest, the_url_comes_from_the_environment_too) {
    install();
    const Finished finished = run(
        {"env",
         "PAWL_URL=sqlite:" + directory_.file("cli.db"),
         PAWL_COMMAND,
         "queue",
         "list",
         "--json"}
    );
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(json::parse(finished.out)[0]["name"], "mail");
}

TEST_F(CliTest, a_password_is_not_shown) {
    const Finished finished =
        run({PAWL_COMMAND, "--url", "postgresql://a:s3cr3t@127.0.0.1:1/db", "stats"});
    EXPECT_EQ(finished.code, 1);
    EXPECT_EQ((finished.out + finished.err).find("s3cr3t"), std::string::npos);
}

}  // namespace
}  // namespace pawl::test
