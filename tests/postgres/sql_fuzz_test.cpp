// Calls of all SQL functions with values that no caller should send: each is refused with a
// documented SQLSTATE or is harmless. The seed is printed; PAWL_FUZZ_SEED repeats it,
// PAWL_FUZZ_CALLS makes more calls.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <pawl/json.h>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

using Words = std::vector<std::string>;

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
    return result + "'";
}

std::string repeated(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
}

// The errors in docs/sql.md, except those for missing access: every call is allowed.
std::set<std::string> documented_states() {
    std::ifstream in(std::filesystem::path(PAWL_SOURCE_DIR) / "docs/sql.md");
    std::ostringstream text;
    text << in.rdbuf();
    const std::string errors = text.str().substr(text.str().find("\n## Errors"));
    const std::regex state("`([0-9A-Z]{5})`");
    std::set<std::string> states;
    for (std::sregex_iterator i(errors.begin(), errors.end(), state), end; i != end; ++i)
        states.insert(i->str(1));
    states.erase("42501");
    return states;
}

struct Function {
    std::string name;
    Words arguments;
    Words types;
    std::size_t required = 0;
};

class Fuzzer {
public:
    Fuzzer(std::string schema, unsigned seed) : schema_(std::move(schema)), random_(seed) {}

    // Mostly valid values, so that calls reach deep.
    std::string call(const std::vector<Function>& functions) {
        if (one_in(4)) return useful_call(functions);
        const Function& function = functions[below(functions.size())];
        const auto lease = one_in(5) ? std::map<std::string, std::string>{} : leases(function);
        Words list;
        for (std::size_t i = 0; i < function.arguments.size(); ++i) {
            const std::string& name = function.arguments[i];
            if (i >= function.required && one_in(3)) continue;
            const auto held = lease.find(name);
            list.push_back(
                name + " => " +
                (name == "max_poll_seconds"           ? "0"
                 : held != lease.end() && !one_in(20) ? held->second
                                                      : value(function.types[i], name))
            );
        }
        return fmt::format(
            "select * from {}.{}({})", schema_, function.name, fmt::join(list, ", ")
        );
    }

private:
    std::size_t below(std::size_t bound) { return random_() % bound; }
    bool one_in(std::size_t times) { return below(times) == 0; }
    const std::string& any(const Words& words) { return words[below(words.size())]; }

    // Work to do and, for workers, leased work.
    std::string useful_call(const std::vector<Function>& functions) {
        static const Words calls{
            "trigger('job', '1')",
            "trigger('told', '1')",
            "start_flow('flow', '[1,2]')",
            "enqueue('work', '1')",
            "publish('t', '1', 'aggregate')",
            "claim_runs({0}.workflow_ids(array['job', 'told']), 3)",
            "claim(array[{0}.queue_id('work')], 3)",
            "poll_for_tasks('flow', 30, 3)",
            "claim_outbox(3)"};
        const bool may_claim =
            std::ranges::find(functions, "claim", &Function::name) != functions.end();
        const std::string& call = calls[below(may_claim ? calls.size() : 5)];
        return fmt::format(fmt::runtime("select * from {0}." + call), schema_);
    }

    // Leases that are held, for functions that take some: by parameter.
    std::map<std::string, std::string> leases(const Function& function) {
        std::map<std::string, std::string> found;
        const auto has = [&](const char* name) {
            return std::ranges::find(function.arguments, name) != function.arguments.end();
        };
        if (!has("deliveries") && !has("delivery")) return found;
        std::string from;
        std::map<std::string, std::string> columns;
        if (has("task_indexes") || has("task_index")) {
            from = fmt::format("{}.task_states where status = 'RUNNING' order by msg_id", schema_);
            columns = {
                {"message_id", "msg_id"},
                {"run_id", "run_id"},
                {"deliver", "delivery"},
                {"step_slug", "step_slug"},
                {"task_index", "task_index"}};
        } else if (has("outbox_ids")) {
            from = fmt::format("{}.list_outbox('PENDING') order by outbox_id", schema_);
            columns = {{"outbox_id", "outbox_id"}, {"deliver", "1"}};
        } else {
            from = fmt::format(
                "{}.list_messages('{}', 'leased') order by message_id",
                schema_,
                any({"work", "job", "told", "flow"})
            );
            columns = {
                {"message_id", "message_id"}, {"run_id", "message_id"}, {"deliver", "delivery"}};
        }
        for (const auto& [name, column] : columns) {
            const bool delivery = name == "deliver";
            found[delivery ? "deliveries" : name + (name == "task_index" ? "es" : "s")] =
                fmt::format("array(select {} from {} limit 3)", column, from);
            found[delivery ? "delivery" : name] =
                fmt::format("(select {} from {} limit 1)", column, from);
        }
        return found;
    }

    std::string value(const std::string& type, const std::string& name) {
        if (one_in(14)) return "null::" + type;
        if (type.ends_with("[]")) {
            const std::string element = type.substr(0, type.size() - 2);
            Words elements;
            for (std::size_t i = below(4); i > 0; --i) elements.push_back(value(element, name));
            return fmt::format("array[{}]::{}", fmt::join(elements, ", "), type);
        }
        if (type == "text" || type == "name" || type == "anycompatible")
            return quoted(text(name)) + "::text";
        if (type == "json" || type == "jsonb")
            return quoted(any(type == "json" ? jsons() : plain_jsons())) + "::" + type;
        static const Words times{
            "infinity",
            "-infinity",
            "2026-01-01",
            "1969-01-01",
            "9999-12-31",
            "294276-01-01",
            "4714-11-24 BC",
            "now",
            "epoch"};
        static const Words small{"0", "1", "1", "1", "2", "5"};
        static const Words integers{
            "0",
            "1",
            "3",
            "100",
            "-1",
            "10001",
            "1000001",
            "-1000001",
            "2147483647",
            "-2147483648"};
        static const Words bigints{
            "0",
            "1",
            "1000",
            "30000",
            "-1",
            "3162240000001",
            "9223372036854775807",
            "-9223372036854775808"};
        static const Words numerics{"0", "1", "0.5", "-1", "30", "1e12", "NaN", "Infinity"};
        static const Words booleans{"true", "false"};
        static const std::map<std::string, const Words*> by_type{
            {"timestamp with time zone", &times},
            {"integer", &integers},
            {"bigint", &bigints},
            {"numeric", &numerics},
            {"boolean", &booleans}};
        if (type == "integer" && !one_in(3)) return any(small);
        if (type == "bigint" && name.find("id") != std::string::npos && !one_in(3))
            return std::to_string(1 + below(30));
        const auto words = by_type.find(type);
        if (words == by_type.end()) return "null::" + type;
        return quoted(any(*words->second)) + "::" + type;
    }

    const std::string& text(const std::string& name) {
        static const std::map<std::string, Words> usual{
            {"workflow", {"job", "told", "flow"}},
            {"workflows", {"job", "told"}},
            {"queue_name", {"work", "flow", "job"}},
            {"flow_slug", {"flow"}},
            {"flow_slugs", {"flow"}},
            {"step_slug", {"a", "b"}},
            {"step_slugs", {"a", "b"}},
            {"status", {"SUCCESS", "ERROR", "RUNNING"}},
            {"statuses", {"SUCCESS", "ERROR", "RUNNING", "PAUSED"}},
            {"step_statuses", {"PENDING", "PAUSED"}},
            {"input", {"1", "{}"}},
            {"inputs", {"1", "[1,2]"}},
            {"output", {"1"}},
            {"outputs", {"1", "[1]"}},
            {"child_inputs", {"1"}},
            {"payloads", {"1"}},
            {"errors", {R"({"type":"t","message":"m"})"}},
            {"step_id", {"s", "t"}},
            {"step_ids", {"s", "t", "u"}},
            {"kinds", {"published", "retry", "park", "release"}},
            {"event_kinds", {"step_failed", ""}},
            {"event_data", {"{}", ""}}};
        static const Words odd = [] {
            Words words = jsons();
            for (const char* word :
                 {"",
                  "nowhere",
                  "run",
                  "QUEUED",
                  "PENDING",
                  "CANCELLED",
                  "success",
                  "outbox",
                  "archive",
                  "stop",
                  "start_polling",
                  "not json",
                  "1],[2",
                  "{\"a\":",
                  "all",
                  "skip",
                  "none",
                  "UTC",
                  "0 3 * * *",
                  "single",
                  "map",
                  "leased",
                  "\xc3\xa9\xe4\xb8\xad",
                  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
                words.emplace_back(word);
            words.push_back(std::string(300, 'x'));
            words.push_back(std::string(5000, 'x'));
            words.push_back(repeated("[", 900) + repeated("]", 900));
            words.push_back(repeated("[", 30000) + repeated("]", 30000));
            return words;
        }();
        const auto known = usual.find(name);
        return any(known != usual.end() && !one_in(3) ? known->second : odd);
    }

    static const Words& plain_jsons() {
        static const Words words{
            "{}",
            "1",
            "[1,2]",
            "\"x\"",
            "null",
            R"({"slug":"flow","steps":[]})",
            R"({"slug":"other","steps":[{"slug":"a"}]})",
            R"({"type":"e","message":"m"})",
            R"({"step":"s","task_index":"zz","attempt":1e99})"};
        return words;
    }
    static const Words& jsons() {
        static const Words words = [] {
            Words all = plain_jsons();
            for (const char* word :
                 {R"("\u0000")", R"({"slug":"\u0000"})", R"({"step":"\u0000","message":"\u0000"})"})
                all.emplace_back(word);
            return all;
        }();
        return words;
    }

    std::string schema_;
    std::mt19937 random_;
};

class SqlFuzzTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        schema_ = place().schema();
        role_ = "fuzz_" + place().unique_name();
        sql_ = database();
        sql_->run("create role " + role_);
        sql_->run("set search_path = " + schema_ + ", pg_catalog");
        sql_->run(
            "select create_workflow('job'); select create_workflow('told', audit => 'all', publish "
            "=> 'ends', "
            "dead_letter_workflow => 'job'); select create_queue('work'); select "
            "create_flow('flow'); "
            "select add_step('flow', 'a'); select add_step('flow', 'b', array['a'], step_type => "
            "'map')"
        );
    }
    void TearDown() override {
        sql_.reset();
        database()->run("drop owned by " + role_ + "; drop role " + role_);
        WorkflowTest::TearDown();
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] const std::string& schema() const { return schema_; }

    // Functions that delete everything that the others need are excluded.
    [[nodiscard]] std::vector<Function> functions(const std::string& access) const {
        std::vector<Function> all;
        for (const Row& row : sql_->rows(fmt::format(
                 "select p.proname, array_to_string(p.proargnames[:p.pronargs], ' '), "
                 "array_to_string(array(select "
                 "t::regtype::text from unnest(p.proargtypes::oid[]) t), '|'), p.pronargs - "
                 "p.pronargdefaults from "
                 "function_access() f join pg_proc p on p.oid = f.signature where "
                 "array_position(array['producer', "
                 "'worker', 'operator'], f.access) <= array_position(array['producer', 'worker', "
                 "'operator'], '{}') and "
                 "p.proname not in ('delete_workflow', 'delete_queue', 'delete_flow_and_data') "
                 "order by p.oid",
                 access
             ))) {
            Function& function = all.emplace_back();
            function.name = row[0];
            function.required = std::stoul(row[3]);
            std::istringstream names(row[1]);
            for (std::string name; names >> name;) function.arguments.push_back(name);
            std::istringstream types(row[2]);
            for (std::string type; std::getline(types, type, '|');) function.types.push_back(type);
        }
        return all;
    }

    void attempt_calls(const std::string& access, int count, unsigned seed) const {
        const auto states = documented_states();
        sql_->run(fmt::format("select grant_access('{}', '{}')", role_, access));
        const auto session = database();
        session->run("set statement_timeout = '10s'; set role " + role_);
        session->run(
            "create function pg_temp.attempt(call text) returns text language plpgsql as $$ begin "
            "execute call; return ''; "
            "exception when others then return sqlstate || ' ' || sqlerrm; end $$"
        );
        Fuzzer fuzzer(schema_, seed);
        const auto all = functions(access);
        ASSERT_GE(all.size(), 40U);
        for (int i = 0; i < count; ++i) {
            const std::string call = fuzzer.call(all);
            const std::string answer =
                session->value("select pg_temp.attempt($call$" + call + "$call$)");
            EXPECT_TRUE(answer.empty() || states.contains(answer.substr(0, 5)))
                << answer << "\nfrom " << call.substr(0, 3000);
        }
    }

private:
    std::string schema_;
    std::string role_;
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, SqlFuzzTest, ::testing::Values(BackendKind::postgres), backend_name);

unsigned number_from(const char* variable, unsigned otherwise) {
    const char* given = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return given ? static_cast<unsigned>(std::stoul(given)) : otherwise;
}

TEST_P(SqlFuzzTest, only_documented_errors_are_raised_and_work_continues) {
    const unsigned seed = number_from("PAWL_FUZZ_SEED", std::random_device{}());
    const int calls = static_cast<int>(number_from("PAWL_FUZZ_CALLS", 3000));
    std::cout << "PAWL_FUZZ_SEED=" << seed << '\n';
    attempt_calls("producer", calls / 5, seed);
    attempt_calls("worker", calls * 2 / 5, seed + 1);
    attempt_calls("operator", calls * 2 / 5, seed + 2);

    for (const std::string list :
         {"list_runs(include_deleted => true, max_rows => 10000)",
          "step_info",
          "event_info",
          "flow_runs",
          "step_states",
          "task_states",
          "list_outbox(max_rows => 10000)",
          "list_schedules()",
          "list_workers()",
          "list_workflows()",
          "metrics()",
          "list_retention()",
          "list_messages('work', max_rows => 10000)",
          "list_archive('work')",
          "(select h.* from runs r cross join lateral run_history(r.run_id) h)",
          "due_schedules()"})
        EXPECT_NO_THROW(sql().run("select json_agg(l) from " + list + " l")) << list;
    EXPECT_NO_THROW((void)store().runs());
    EXPECT_NO_THROW((void)store().outbox());
    EXPECT_NO_THROW((void)store().workers());
    EXPECT_NO_THROW((void)store().schedules());

    make_workflow("after");
    EXPECT_NO_THROW(sql().run("select fail_unhandled(array['x'])"));
    const Run run = workflow("after").trigger(Json{"1"}).execute(store());
    Worker working =
        worker("w").subscribe("aft").handle("after", [](Context&) { return 1; }).create(store());
    working.start();
    EXPECT_EQ(run.wait_json(30s).text, "1") << "a worker still claims";
    working.stop();
}

}  // namespace
}  // namespace pawl::test
