// Every command prints JSON if requested: one test calls each of them.
#include <regex>
#include <set>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

class JsonOutputTest : public CliFixture {
protected:
    // Runs it with --json; the output must parse, line by line for commands that stream.
    json call(std::vector<std::string> arguments, const std::string& input = {}) {
        called_.insert(arguments.front());
        if (arguments.size() > 1) called_.insert(arguments[0] + " " + arguments[1]);
        return pawl_json(std::move(arguments), input);
    }
    // The commands that have no subcommands, according to the completion script.
    [[nodiscard]] std::set<std::string> commands() const {
        const std::string script = pawl({"completion bash", "bash"}).out;
        const std::regex path("' ([a-z]+( [a-z-]+)?)'");
        std::set<std::string> all;
        for (std::sregex_iterator i(script.begin(), script.end(), path), end; i != end; ++i)
            all.insert(i->str(1));
        std::erase_if(all, [&](const std::string& command) {
            const auto next = all.upper_bound(command);
            return next != all.end() && next->starts_with(command + " ");
        });
        return all;
    }
    [[nodiscard]] const std::set<std::string>& called() const { return called_; }

    void work_queues();
    void work_workflows();
    void work_flows();
    void operate();

private:
    std::set<std::string> called_;
};

void JsonOutputTest::work_queues() {
    call({"queue", "create", "mail", "--max-attempts", "1"});
    call({"enqueue", "mail", "--file", "-"}, "1\n2\n3\n4\n5\n6\n");
    const json held = call({"dequeue", "mail", "--max", "5"});
    const auto settle = [&](const std::string& how, std::size_t at) {
        const auto id = std::to_string(held[at]["id"].get<int>());
        call({"settle", how, "mail", id, "1"});
    };
    call(
        {"settle", "extend", "mail", std::to_string(held[0]["id"].get<int>()), "1", "--lease", "1m"}
    );
    settle("archive", 0);
    settle("remove", 1);
    settle("release", 2);
    const auto dead = std::to_string(held[3]["id"].get<int>());
    call({"settle", "fail", "mail", dead, "1", "--error", "no"});
    call({"message", "list", "mail"});
    call({"message", "get", "mail", "6"});
    call({"archive", "list", "mail"});
    call({"archive", "replay", "mail", dead});
    call({"archive", "purge", "mail", "--yes"});
    call({"queue", "list"});
    call({"queue", "stats"});
    call({"queue", "pause", "mail"});
    call({"queue", "resume", "mail"});
    call({"queue", "purge", "mail", "--yes"});
    call({"queue", "delete", "mail"});
}

void JsonOutputTest::work_workflows() {
    call({"workflow", "create", "order"});
    call({"workflow", "list"});
    call({"workflow", "show", "order"});
    call({"workflow", "metrics", "order"});
    const auto run = std::to_string(call({"trigger", "order", "{}"})["id"].get<int>());
    call({"run", "list"});
    call({"run", "show", run});
    call({"run", "steps", run});
    call({"run", "history", run});
    call({"run", "count"});
    call({"run", "wake", run});
    call({"run", "cancel", run, "--reason", "no"});
    const auto again = std::to_string(call({"run", "retry", run})["id"].get<int>());
    call({"run", "delete", again, "--reason", "no"});
    call({"schedule", "create", "nightly", "order", "30 2 * * *"});
    call({"schedule", "list"});
    call({"schedule", "show", "nightly"});
    call({"schedule", "pause", "nightly"});
    call({"schedule", "resume", "nightly"});
    call({"schedule", "next", "nightly"});
    const auto fired = std::to_string(call({"schedule", "run", "nightly"})["id"].get<int>());
    call({"schedule", "delete", "nightly"});
    call({"run", "delete", fired, "--reason", "no"});
    call({"workflow", "create", "other"});
    call({"workflow", "delete", "other"});
}

void JsonOutputTest::work_flows() {
    call({"flow", "create", "album"});
    call({"flow", "add-step", "album", "list"});
    const json shape = call({"flow", "shape", "album"});
    call({"flow", "ensure", "-"}, shape.dump());
    call({"flow", "list"});
    const auto run = std::to_string(call({"flow", "start", "album", "1"})["id"].get<int>());
    call({"flow", "poll", "album"});
    call({"flow", "complete", run, "list", "[]"});
    call({"flow", "show", run});
    call({"run", "wait", run});
    const auto failing = std::to_string(call({"flow", "start", "album", "1"})["id"].get<int>());
    call({"flow", "poll", "album"});
    call({"flow", "fail", failing, "list", "no"});
    call({"flow", "delete", "album", "--force"});
}

void JsonOutputTest::operate() {
    call({"outbox", "publish", "order.shipped", "{}"});
    call({"outbox", "list"});
    call({"outbox", "show", "1"});
    call({"outbox", "retry", "--all"});
    call({"outbox", "dispatch", "--once", "--to", directory_.file("events")});
    call({"retention", "set", "success", "order", "--age", "30d"});
    call({"retention", "list"});
    call({"prune"});
    call({"worker", "list"});
    call({"worker", "purge"});
    call({"tenants"});
    call({"stats"});
    call({"verify"});
}

TEST_F(JsonOutputTest, every_command_answers_in_json_if_asked_to) {
    call({"install"});
    work_queues();
    work_workflows();
    work_flows();
    operate();
    for (const std::string& command : commands()) {
        // The demo and the script are for interactive use; the others need a worker.
        static const std::set<std::string> elsewhere{
            "demo",
            "completion bash",
            "run fork",
            "run resume",
            "worker suspend",
            "worker resume",
            "worker interrupt",
            "worker stop"};
        EXPECT_TRUE(called().contains(command) || elsewhere.contains(command)) << command;
    }
}

}  // namespace
}  // namespace pawl::test
