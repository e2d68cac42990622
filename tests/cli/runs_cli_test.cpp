// Runs as people see them: within 80 columns, with what they wait for, in color on a terminal.
#include <algorithm>
#include <regex>
#include <sstream>

#include "cli/store_cli_fixture.h"

namespace pawl::test {

namespace {

using nlohmann::json;

constexpr const char* long_name = "fulfilment_of_orders_from_the_shop";
constexpr const char* refusal =
    "the payment service refused the card: insufficient funds, see https://pay.example/ticket/99";

std::string widest_line(const std::string& text) {
    std::string widest;
    std::size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto width = static_cast<std::size_t>(std::ranges::count_if(line, [](char c) {
            return (c & 0xC0) != 0x80;
        }));
        if (width <= most) continue;
        most = width;
        widest = line;
    }
    return widest;
}

std::size_t width_of_text(const std::string& text) {
    const auto line = widest_line(text);
    return static_cast<std::size_t>(std::ranges::count_if(line, [](char c) {
        return (c & 0xC0) != 0x80;
    }));
}

}  // namespace

void RunsCliTest::SetUp() {
    ConnectOptions options;
    options.log = nullptr;
    store_.emplace(connect(url(), options));
    store_->install();
    for (const char* name : {"greet", "approve", long_name, "sleepy"})
        store_->create_workflow(name);
    worker_.emplace(
        pawl::worker("a-worker-with-a-long-name")
            .handle(
                "greet",
                [](Context& context, const json& input) {
                    return context.step("greet", [&] { return json{{"hello", input}}; });
                }
            )
            .handle(
                "approve",
                [](Context& context, const json&) {
                    context.step("prepare", [] {});
                    return context.pause<json>("approval", "the manager approves 12 lamps");
                }
            )
            .handle(
                long_name,
                [](Context& context, const json&) {
                    context.step("charge_card", [] { throw PermanentError(refusal); });
                }
            )
            .handle("sleepy", [](Context& context, const json&) { context.sleep(2h); })
            .create(*store_)
    );
    trigger("greet", R"("ada")");
    trigger("approve", "{}");
    trigger(long_name, R"({"customer":"Ada Lovelace","items":["lamp","lamp","lamp"]})");
    trigger("sleepy", "{}");
    work();
    store_->cancel(trigger("greet", "1"), "wrong customer");
}

namespace {

TEST_P(RunsCliTest, tables_fit_80_columns) {
    ASSERT_EQ(pawl({"queue", "create", "mail-of-the-customers-in-every-country"}).code, 0);
    const std::string payload = R"({"text":")" + std::string(200, 'x') + "\"}";
    ASSERT_EQ(pawl({"enqueue", "mail-of-the-customers-in-every-country", payload}).code, 0);
    ASSERT_EQ(pawl({"schedule", "create", "nightly", long_name, "30 2 * * mon-fri"}).code, 0);
    ASSERT_EQ(pawl({"outbox", "publish", "invoice.paid", "{}", "--aggregate", "i-1"}).code, 0);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"run", "list"},
             {"run", "history", "3"},
             {"run", "steps", "2"},
             {"run", "steps", "3"},
             {"workflow", "list"},
             {"queue", "list"},
             {"queue", "stats"},
             {"message", "list", "mail-of-the-customers-in-every-country"},
             {"schedule", "list"},
             {"outbox", "list"},
             {"worker", "list"}}) {
        const Finished finished = pawl_with({"COLUMNS=80"}, command);
        EXPECT_EQ(finished.code, 0) << finished.err;
        EXPECT_LE(width_of_text(finished.out), 80U) << widest_line(finished.out);
    }
}

TEST_P(RunsCliTest, a_narrow_table_keeps_what_matters) {
    const std::string list = pawl_with({"COLUMNS=80"}, {"run", "list"}).out;
    EXPECT_TRUE(contains(list, "charge_card: the payment")) << list;
    EXPECT_TRUE(contains(list, "…"));
    const std::string history = pawl_with({"COLUMNS=80"}, {"run", "history", "3"}).out;
    EXPECT_TRUE(contains(history, "step 'charge_card' failed")) << history;
    EXPECT_TRUE(
        std::regex_search(history, std::regex("\\n[0-9]{2}-[0-9]{2} [0-9:]{8}\\.[0-9]{3}  "))
    ) << history;
    const std::string full = pawl_with({"COLUMNS=80"}, {"run", "list", "--full"}).out;
    EXPECT_TRUE(contains(full, refusal));
    EXPECT_FALSE(contains(full, "…"));
    const std::string piped = pawl_with({"-u", "COLUMNS"}, {"run", "list"}).out;
    EXPECT_TRUE(contains(piped, refusal)) << "a pipe has no width";
}

TEST_P(RunsCliTest, paused_runs_show_what_they_wait_for) {
    const Finished list = pawl({"run", "list"});
    EXPECT_TRUE(contains(list.out, "waits at approval: the manager approves 12 lamps"));
    EXPECT_TRUE(contains(list.out, "sleeps until 20"));
    EXPECT_TRUE(contains(list.err, "1 run waits for a resume")) << list.err;
    EXPECT_TRUE(contains(list.err, "pawl run resume 2 approval JSON"));
    const std::string show = pawl({"run", "show", "2"}).out;
    EXPECT_TRUE(contains(show, "step 'approval' waits for a resume: the manager approves 12 lamps")
    );
    EXPECT_TRUE(contains(show, "next check   20"));
    EXPECT_TRUE(contains(show, "to continue  pawl run resume 2 approval JSON"));
    EXPECT_TRUE(contains(pawl({"run", "show", "4"}).out, "the run sleeps until 20"));
    const Finished wait = pawl({"run", "wait", "2", "--timeout", "1ms"});
    EXPECT_EQ(wait.code, 5);
    EXPECT_TRUE(contains(wait.err, "run 2 is paused: step 'approval' waits for a resume"));
    EXPECT_TRUE(contains(wait.err, "to continue it: pawl run resume 2 approval JSON"));
    EXPECT_TRUE(contains(wait.err, "run 2 has not ended within 1ms; it is PAUSED")) << wait.err;
}

TEST_P(RunsCliTest, a_run_that_has_called_another_names_it) {
    store().create_workflow("parent");
    Worker caller = worker("caller")
                        .handle(
                            "parent",
                            [](Context& context, const json&) {
                                context.call("ask", workflow("approve").trigger(json::object()));
                            }
                        )
                        .create(store());
    const auto parent = trigger("parent", "{}");
    caller.poll_once();
    const auto id = std::to_string(parent.value());
    const auto steps = cli().json({"run", "steps", id});
    EXPECT_EQ(steps[0]["waits_for"]["kind"], "run");
    const std::string called = steps[0]["waits_for"]["run_id"].dump();
    EXPECT_EQ(cli().json({"run", "show", called})["parent_run_id"].dump(), id);
    EXPECT_TRUE(contains(pawl({"run", "list"}).out, "waits for run " + called));
    EXPECT_TRUE(contains(pawl({"run", "steps", id}).out, "waits for run " + called));
    EXPECT_TRUE(
        contains(pawl({"run", "show", id}).out, "step 'ask' waits for the end of run " + called)
    );
    const Finished wait = pawl({"run", "wait", id, "--timeout", "1ms"});
    EXPECT_EQ(wait.code, 5);
    EXPECT_TRUE(contains(wait.err, "waits for the end of run " + called)) << wait.err;
    EXPECT_TRUE(contains(wait.err, "pawl run show " + called)) << wait.err;
}

TEST_P(RunsCliTest, run_show_cuts_long_values) {
    std::string input = "[0";
    for (int i = 1; i < 20'000; ++i) input += "," + std::to_string(i);
    input += "]";
    const auto id = std::to_string(trigger("greet", input).value());
    const std::string cut = pawl({"run", "show", id}).out;
    EXPECT_LT(cut.size(), 3000U);
    EXPECT_TRUE(contains(cut, std::to_string(input.size()) + " bytes; --full shows all"));
    EXPECT_TRUE(contains(pawl({"run", "show", id, "--full"}).out, input));
    EXPECT_EQ(cli().json({"run", "show", id})["input"].size(), 20'000U);
}

TEST_P(RunsCliTest, colors_are_for_terminals) {
    const std::string escape = "\x1b[";
    const std::vector<std::string> list{"run", "list"};
    EXPECT_FALSE(contains(pawl(list).out, escape));
    EXPECT_TRUE(contains(pawl({"run", "list", "--color", "always"}).out, "\x1b[31mERROR"));
    EXPECT_FALSE(contains(pawl({"run", "list", "--color", "always", "--json"}).out, escape));
    EXPECT_TRUE(contains(on_terminal({"TERM=xterm"}, list).out, "\x1b[31mERROR"));
    EXPECT_FALSE(contains(on_terminal({"TERM=xterm", "NO_COLOR=1"}, list).out, escape));
    EXPECT_FALSE(contains(on_terminal({"TERM=xterm"}, {"run", "list", "--json"}).out, escape));
    EXPECT_FALSE(
        contains(on_terminal({"TERM=xterm"}, {"run", "list", "--color", "never"}).out, escape)
    );
    EXPECT_EQ(pawl({"run", "list", "--color", "pink"}).code, 2);
}

TEST_P(RunsCliTest, a_time_may_be_relative) {
    EXPECT_EQ(cli().json({"run", "list", "--since", "1h"}).size(), 5U);
    EXPECT_EQ(cli().json({"run", "list", "--until", "1h"}).size(), 0U);
    EXPECT_EQ(cli().json({"run", "list", "--since", "+1h"}).size(), 0U);
    EXPECT_EQ(cli().json({"run", "count", "--since=-1h"})["success"], 1);
    EXPECT_EQ(cli().json({"run", "list", "--since", "2020-01-01T00:00:00Z"}).size(), 5U);
    const Finished bad = pawl({"run", "list", "--since", "yesterday"});
    EXPECT_EQ(bad.code, 2);
    EXPECT_TRUE(contains(bad.err, "'yesterday' is not a time like 2026-01-31T12:00:00Z, 1h or now"))
        << bad.err;
    const auto id = cli().json({"trigger", "greet", "1", "--at", "1h"})["id"].dump();
    const json run = cli().json({"run", "show", id});
    EXPECT_GT(run["visible_at"], run["created_at"]);
    EXPECT_TRUE(contains(pawl({"run", "list"}).out, "starts at 20"));
    ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    ASSERT_EQ(pawl({"enqueue", "mail", "1", "--at", "2h"}).code, 0);
    EXPECT_EQ(cli().json({"queue", "stats", "mail"})["waiting"], 1);
    const json schedule = cli().json(
        {"schedule", "create", "later", "greet", "@every 5m", "--start", "2h", "--end", "5d"}
    );
    EXPECT_GT(schedule["next_fire_at"], schedule["created_at"]);
    EXPECT_LT(schedule["start"], schedule["end"]);
}

TEST_P(RunsCliTest, times_are_ages_utc_or_local) {
    const std::vector<std::string> zone{"TZ=XXX-5:30"};
    EXPECT_TRUE(contains(pawl_with(zone, {"run", "list"}).out, "s ago"));
    EXPECT_TRUE(contains(pawl_with(zone, {"run", "list", "--utc"}).out, "Z"));
    EXPECT_FALSE(contains(pawl_with(zone, {"run", "list", "--utc"}).out, "s ago"));
    EXPECT_TRUE(contains(pawl_with(zone, {"run", "list", "--local"}).out, "+05:30"));
    EXPECT_TRUE(contains(pawl_with(zone, {"run", "show", "1", "--local"}).out, "+05:30"));
    EXPECT_FALSE(contains(pawl_with(zone, {"run", "show", "1"}).out, "+05:30"));
    EXPECT_FALSE(contains(pawl_with(zone, {"run", "list", "--local", "--json"}).out, "+05:30"));
}

TEST_P(RunsCliTest, the_exit_code_of_a_wait_tells_the_ends_apart) {
    const auto code = [&](const std::string& run) {
        return pawl({"run", "wait", run, "--timeout", "1ms"}).code;
    };
    EXPECT_EQ(code("1"), 0);
    EXPECT_EQ(code("3"), 3);
    EXPECT_EQ(code("5"), 4);
    EXPECT_EQ(code("2"), 5);
    EXPECT_EQ(code("99"), 6);
    EXPECT_EQ(pawl({"trigger", "greet", "1", "--wait", "1ms"}).code, 5);
    const Finished cancelled = pawl({"run", "wait", "5"});
    EXPECT_EQ(cancelled.err, "pawl: run 5 was cancelled: wrong customer\n");
    const Place empty(GetParam());
    EXPECT_EQ(Cli(empty.url()).run({"run", "wait", "1"}).code, 7) << "not installed";
    EXPECT_EQ(Cli(empty.url()).run({"trigger", "greet", "--wait", "1s"}).code, 7);
}

PAWL_FOR_EACH_BACKEND(RunsCliTest);

}  // namespace
}  // namespace pawl::test
