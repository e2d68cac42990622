// The commands of the outbox.
#include <csignal>
#include <fstream>
#include <pawl/pawl.h>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

class OutboxCliTest : public CliFixture {
protected:
    void SetUp() override { ASSERT_EQ(pawl({"install"}).code, 0); }
    std::string publish(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.insert(arguments.begin(), {"outbox", "publish"});
        return pawl_json(std::move(arguments), input)["event_id"];
    }
    [[nodiscard]] json list(std::vector<std::string> arguments = {}) const {
        arguments.insert(arguments.begin(), {"outbox", "list"});
        return pawl_json(std::move(arguments));
    }
    [[nodiscard]] std::vector<json> lines() const {
        std::vector<json> all;
        std::ifstream file(file_);
        for (std::string line; std::getline(file, line);) all.push_back(json::parse(line));
        return all;
    }
    // Parks all due events.
    void park() const {
        ConnectOptions options;
        options.log = nullptr;
        const Store store = connect(url(), options);
        dispatcher(store, [](const OutboxEvent&) {
            return SinkResult{SinkResult::Kind::reject, "no such customer", {}};
        }).dispatch_once();
    }
    [[nodiscard]] std::string error_of_command(std::vector<std::string> arguments, int code) const {
        arguments.emplace_back("--json");
        const Finished finished = pawl(std::move(arguments));
        EXPECT_EQ(finished.code, code) << finished.out << finished.err;
        return json::parse(finished.err)["error"];
    }
    std::string file_ = directory_.file("events.jsonl");
};

TEST_F(OutboxCliTest, an_event_is_published_listed_and_shown) {
    const std::string id = publish(
        {"invoice.paid",
         R"({"total":1e2})",
         "--aggregate",
         "invoice-42",
         "--subject",
         "s",
         "--traceparent",
         "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    );
    publish({"other", "-"}, "[1]");
    const json all = list();
    ASSERT_EQ(all.size(), 2U);
    const json event = all[0];
    EXPECT_EQ(event["event_id"], id);
    EXPECT_EQ(event["type"], "invoice.paid");
    EXPECT_EQ(event["aggregate"], "invoice-42");
    EXPECT_EQ(event["subject"], "s");
    EXPECT_EQ(event["status"], "PENDING");
    EXPECT_EQ(event["attempts"], 0);
    EXPECT_TRUE(event["run_id"].is_null());
    EXPECT_TRUE(event["published_at"].is_null());
    EXPECT_EQ(all[1]["payload"], json({1}));
    EXPECT_EQ(pawl_json({"outbox", "show", event["id"].dump()}), event);
    const Finished shown = pawl({"outbox", "show", event["id"].dump()});
    EXPECT_TRUE(contains(shown.out, "type         invoice.paid"));
    EXPECT_TRUE(contains(shown.out, R"(payload      {"total":1e2})"));
    EXPECT_TRUE(contains(pawl({"outbox", "list"}).out, "invoice-42"));
}

TEST_F(OutboxCliTest, lists_are_filtered) {
    publish({"a", "1", "--aggregate", "x"});
    publish({"b", "1", "--aggregate", "y"});
    EXPECT_EQ(list({"--type", "a"}).size(), 1U);
    EXPECT_EQ(list({"--aggregate", "y"})[0]["type"], "b");
    EXPECT_EQ(list({"--status", "pending"}).size(), 2U);
    EXPECT_EQ(list({"--status", "PUBLISHED"}).size(), 0U);
    EXPECT_EQ(list({"--run", "7"}).size(), 0U);
    EXPECT_EQ(list({"--limit", "1"}).size(), 1U);
    EXPECT_EQ(list({"--after", list()[0]["id"].dump()})[0]["type"], "b");
    EXPECT_EQ(pawl({"outbox", "list", "--status", "lost"}).code, 2);
}

TEST_F(OutboxCliTest, events_are_dispatched_to_a_file_once) {
    publish({"a", "1", "--aggregate", "x"});
    publish({"b", "2", "--aggregate", "x"});
    const std::vector<std::string> command{
        "outbox", "dispatch", "--to", file_, "--once", "--source", "tests"};
    EXPECT_EQ(pawl_json(command)["delivered"], 2);
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[0]["type"], "a");
    EXPECT_EQ(lines()[0]["source"], "tests");
    EXPECT_EQ(lines()[1]["data"], 2);
    EXPECT_EQ(lines()[1]["id"], list()[1]["event_id"]);
    EXPECT_EQ(list({"--status", "PUBLISHED"}).size(), 2U);
    EXPECT_EQ(pawl(command).out, "0 events delivered\n");
}

TEST_F(OutboxCliTest, a_dispatcher_delivers_until_it_is_stopped) {
    Process running({PAWL_COMMAND, "--url", url(), "outbox", "dispatch", "--to", file_});
    publish({"a"});
    EXPECT_TRUE(eventually([&] { return list({"--status", "PUBLISHED"}).size() == 1; }));
    publish({"b"});
    EXPECT_TRUE(eventually([&] { return list({"--status", "PUBLISHED"}).size() == 2; }));
    running.signal(SIGTERM);
    EXPECT_EQ(running.wait(), 0);
    EXPECT_EQ(lines().size(), 2U);
}

TEST_F(OutboxCliTest, a_server_that_is_not_there_leaves_the_events_pending) {
    publish({"a"});
    EXPECT_EQ(
        pawl_json(
            {"outbox",
             "dispatch",
             "--to",
             "http://u:secret@127.0.0.1:1/",
             "--once",
             "--header",
             "X-Key: secret"}
        )["delivered"],
        0
    );
    const json event = list()[0];
    EXPECT_EQ(event["status"], "PENDING");
    EXPECT_EQ(event["attempts"], 1);
    EXPECT_EQ(event["last_error"], "the server cannot be reached");
}

TEST_F(OutboxCliTest, parked_events_are_retried) {
    publish({"a"});
    publish({"b"});
    park();
    const json parked = list({"--status", "PARKED"});
    ASSERT_EQ(parked.size(), 2U);
    EXPECT_EQ(parked[0]["last_error"], "no such customer");
    EXPECT_EQ(pawl_json({"outbox", "retry", parked[1]["id"].dump()})["retried"], 1);
    EXPECT_EQ(pawl({"outbox", "retry", "--all"}).out, "1 event will be delivered again\n");
    EXPECT_EQ(list({"--status", "PARKED"}).size(), 0U);
}

TEST_F(OutboxCliTest, mistakes_are_reported) {
    EXPECT_EQ(error_of_command({"outbox", "show", "7"}, 1), "outbox_event_not_found");
    EXPECT_EQ(error_of_command({"outbox", "retry", "7"}, 1), "outbox_event_not_found");
    EXPECT_EQ(error_of_command({"outbox", "retry"}, 2), "usage");
    EXPECT_EQ(error_of_command({"outbox", "retry", "7", "--all"}, 2), "usage");
    EXPECT_EQ(error_of_command({"outbox", "publish", "a", "{"}, 1), "invalid_payload");
    EXPECT_EQ(
        error_of_command({"outbox", "publish", "a", "1", "--traceparent", "x"}, 1),
        "invalid_argument"
    );
    EXPECT_EQ(error_of_command({"outbox", "dispatch"}, 2), "usage");
    EXPECT_EQ(error_of_command({"outbox", "dispatch", "--to", "ftp://h"}, 1), "invalid_url");
    EXPECT_EQ(
        error_of_command({"outbox", "dispatch", "--to", "http://h", "--header", "x"}, 2), "usage"
    );
}

TEST_F(OutboxCliTest, a_workflow_shows_what_its_runs_publish) {
    const json made = pawl_json({"workflow", "create", "zip", "--publish", "ends"});
    EXPECT_EQ(made["publish"], "ends");
    EXPECT_EQ(pawl_json({"workflow", "create", "zip", "--publish", "off"})["publish"], "off");
    EXPECT_EQ(pawl_json({"workflow", "create", "zip", "--publish", "alerts"})["publish"], "alerts");
    EXPECT_TRUE(contains(pawl({"workflow", "show", "zip"}).out, "publish       alerts"));
    EXPECT_EQ(pawl({"workflow", "create", "zip", "--publish", "all"}).code, 2);
    const std::string run = pawl_json({"trigger", "zip"})["id"].dump();
    EXPECT_EQ(pawl_json({"workflow", "create", "zip", "--publish", "ends"})["publish"], "ends");
    ASSERT_EQ(pawl({"run", "cancel", run, "--reason", "enough"}).code, 0);
    EXPECT_EQ(list({"--run", run})[0]["type"], "run.cancelled");
}

}  // namespace
}  // namespace pawl::test
