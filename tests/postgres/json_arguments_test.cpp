// JSON arguments are json, jsonb or text, and results are json: calls resolve for each type of the
// caller.
#include <fmt/format.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

struct Argument {
    std::string name;
    std::string type;
    bool has_default = false;
    bool is_json = false;
};

class JsonArgumentsTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema() + ", pg_catalog");
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    // The reason why the server cannot plan the statement; "" if it can.
    [[nodiscard]] std::string refusal(const std::string& statement) const {
        try {
            sql_->run(statement);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    }
    // Functions with an argument that is json in one overload and jsonb in another.
    [[nodiscard]] std::vector<std::string> overloaded() const {
        std::vector<std::string> names;
        for (const Row& row : sql_->rows(
                 "select distinct a.proname from pg_proc a join pg_proc b using (proname, "
                 "pronamespace) "
                 "where a.pronamespace = '" +
                 place().schema() +
                 "'::regnamespace and 'json'::regtype = any(a.proargtypes::oid[]) "
                 "and 'jsonb'::regtype = any(b.proargtypes::oid[]) order by 1"
             ))
            names.push_back(row[0]);
        return names;
    }
    // For the overload with json and the most arguments.
    [[nodiscard]] std::vector<Argument> arguments(const std::string& function) const {
        std::vector<Argument> found;
        for (const Row& row : sql_->rows(fmt::format(
                 "select n.name, n.type::regtype, n.place > p.pronargs - p.pronargdefaults, n.type "
                 "= "
                 "'json'::regtype from (select * from pg_proc where pronamespace = "
                 "'{}'::regnamespace and "
                 "proname = '{}' and 'json'::regtype = any(proargtypes::oid[]) order by pronargs "
                 "desc limit 1) p "
                 "cross join lateral unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) with "
                 "ordinality as n "
                 "(name, type, place)",
                 place().schema(),
                 function
             )))
            found.push_back({row[0], row[1], row[2] == "t", row[3] == "t"});
        return found;
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(
    , JsonArgumentsTest, ::testing::Values(BackendKind::postgres), backend_name
);

const std::vector<std::string> json_values{
    "'{}'",
    "'{}'::json",
    "'{}'::jsonb",
    "'{}'::text",
    "null",
    "jsonb_build_object('a', 1)",
    "json_build_object('a', 1)",
    "$${\"a\":1}$$"};

TEST_P(JsonArgumentsTest, every_public_function_that_takes_json_takes_jsonb_and_text) {
    const auto found = overloaded();
    for (const char* name :
         {"complete_task",
          "create_flow_shape",
          "enqueue",
          "ensure_flow",
          "finish_run",
          "publish",
          "record_step",
          "resume",
          "resume_early",
          "save_schedule",
          "signal",
          "start_flow",
          "trigger",
          "trigger_one"})
        EXPECT_NE(std::ranges::find(found, name), found.end()) << name;
    EXPECT_EQ(
        sql().value("select coalesce(string_agg(a.signature::text, ' '), '') from "
                    "function_access() a join pg_proc p "
                    "on p.oid = a.signature where a.access <> 'owner' and 'json'::regtype = "
                    "any(p.proargtypes::oid[]) "
                    "and not exists (select from pg_proc o where o.proname = p.proname and "
                    "o.pronamespace = "
                    "p.pronamespace and 'jsonb'::regtype = any(o.proargtypes::oid[]))"),
        ""
    );
}

TEST_P(JsonArgumentsTest, no_call_is_ambiguous_for_any_type_of_json) {
    int calls = 0;
    for (const std::string& function : overloaded()) {
        const auto all = arguments(function);
        for (const std::string& value : json_values) {
            std::string named;
            std::string positional;
            bool in_front = true;
            for (const Argument& argument : all) {
                const bool given = argument.is_json || !argument.has_default;
                const std::string passed = argument.is_json ? value : "null::" + argument.type;
                if (given) named += ", " + argument.name + " => " + passed;
                in_front = in_front && given;
                if (in_front) positional += ", " + passed;
            }
            for (const std::string& list : {named.substr(2), positional.substr(2)}) {
                const std::string call =
                    fmt::format("explain select {}.{}({})", place().schema(), function, list);
                EXPECT_EQ(refusal(call), "") << call;
                ++calls;
            }
        }
    }
    EXPECT_GE(calls, 13 * 16);
}

TEST_P(JsonArgumentsTest, a_call_without_its_json_is_not_ambiguous) {
    for (const std::string call :
         {"trigger('job')",
          "start_flow('flow')",
          "resume(1, 's')",
          "resume_early(1, 's')",
          "signal(1, 's')",
          "publish('order.placed')",
          "record_step(1, 1, 's', 1, 'RUNNING', 1)",
          "add_step('flow', 'a')",
          "add_step('flow', 'a', '{}')",
          "add_step('flow', 'a', array['b'])"})
        EXPECT_EQ(refusal("explain select " + place().schema() + "." + call), "") << call;
}

TEST_P(JsonArgumentsTest, each_of_input_output_and_error_of_a_step_may_be_left_out) {
    const std::vector<std::string> names{"input", "output", "error"};
    for (const std::string& value : json_values) {
        for (unsigned given = 1; given < 8; ++given) {
            std::string call = "explain select record_step(1, 1, 's', 1, 'SUCCESS', 1";
            for (unsigned i = 0; i < 3; ++i) {
                if ((given & (1U << i)) != 0) call += ", " + names[i] + " => " + value;
            }
            EXPECT_EQ(refusal(call + ", elapsed_us => 1)"), "") << call;
        }
    }
}

TEST_P(JsonArgumentsTest, patterns_of_a_step_have_any_type) {
    sql().run("select create_flow('flow')");
    int step = 0;
    for (const std::string& value : json_values) {
        for (const std::string patterns :
             {"required_input_pattern => {}",
              "forbidden_input_pattern => {}",
              "required_input_pattern => {0}, forbidden_input_pattern => {0}"}) {
            const std::string call = fmt::format(
                "select add_step('flow', 's{}', {})",
                ++step,
                fmt::format(fmt::runtime(patterns), value)
            );
            EXPECT_EQ(refusal(call), "") << call;
            EXPECT_EQ(refusal(call), "") << "the same again: " << call;
        }
    }
    EXPECT_TRUE(contains(
        refusal("select add_step('flow', 'x', required_input_pattern => 'no json')"),
        "required_input_pattern is not JSON"
    ));
}

TEST_P(JsonArgumentsTest, a_run_is_triggered_and_read_with_any_type) {
    sql().run(
        "select create_workflow('job'); select create_queue('work'); create temp table given (a "
        "json, b jsonb, "
        "c text, d varchar); insert into given values ('{\"x\":1}', '{\"x\":1}', '{\"x\":1}', "
        "'{\"x\":1}')"
    );
    const std::string f = place().schema() + ".";
    for (const std::string column : {"a", "b", "c", "d"}) {
        EXPECT_EQ(refusal("select " + f + "trigger('job', " + column + ") from given"), "")
            << column;
        EXPECT_EQ(refusal("select enqueue('work', " + column + ") from given"), "") << column;
        EXPECT_EQ(refusal("select publish('t', " + column + ", 'a') from given"), "") << column;
    }
    sql().run("prepare typed as select " + f + "trigger('job', $1); execute typed('{\"x\":1}')");
    EXPECT_EQ(sql().number("select count(*) from list_runs('job') where input ->> 'x' = '1'"), 5);
    EXPECT_EQ(
        sql().number("select count(*) from list_messages('work') where payload ->> 'x' = '1'"), 4
    );
    EXPECT_EQ(sql().number("select count(*) from list_outbox() where payload ->> 'x' = '1'"), 4);
}

TEST_P(JsonArgumentsTest, text_that_is_not_json_is_refused_as_json_is) {
    sql().run("select create_workflow('job'); select create_queue('work')");
    const std::string f = place().schema() + ".";
    for (const std::string value : {"'no json'", "'no json'::text", "''"}) {
        for (const std::string& call :
             {f + "trigger('job', {})",
              std::string("enqueue('work', {})"),
              std::string("publish('t', {})"),
              std::string("resume(1, 's', {})"),
              std::string("ensure_flow({})")})
            EXPECT_TRUE(contains(
                refusal("select " + fmt::format(fmt::runtime(call), value)),
                "invalid input syntax for type json"
            )) << call
               << value;
    }
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
}

TEST_P(JsonArgumentsTest, flows_take_jsonb_as_pgflow_shows) {
    sql().run(
        "select create_flow('greet'); select add_step('greet', 'a'); "
        "select add_step('greet', 'b', deps_slugs => array['a'], required_input_pattern => "
        "'{}'::jsonb)"
    );
    const std::string run = sql().value(
        "select run_id from start_flow(flow_slug => 'greet', input => '{\"first_name\": "
        "\"Ada\"}'::jsonb)"
    );
    EXPECT_EQ(
        sql().value("select input -> 'run' ->> 'first_name' from poll_for_tasks('greet', 30, 1)"),
        "Ada"
    );
    EXPECT_EQ(
        sql().value(
            "select complete_task(" + run + ", 'a', 0, output => jsonb_build_object('x', 1))"
        ),
        "done"
    );
    EXPECT_EQ(sql().value("select output ->> 'x' from step_states where step_slug = 'a'"), "1");
    EXPECT_EQ(
        sql().number("select count(*) from start_flows_jsonb(array['greet', 'greet'], "
                     "array['1'::jsonb, '2'::jsonb])"),
        2
    );
}

TEST_P(JsonArgumentsTest, batches_in_jsonb_have_a_name_of_their_own) {
    sql().run("select create_queue('work')");
    EXPECT_EQ(
        sql().value("select cardinality(enqueue_batch_jsonb('work', array[jsonb_build_object('a', "
                    "1), '2']))"),
        "2"
    );
    EXPECT_EQ(sql().value("select enqueue_batch('work', '{}')"), "{}");
}

TEST_P(JsonArgumentsTest, results_are_json) {
    sql().run("select create_workflow('job', audit => 'all')");
    const std::string run =
        sql().value("select " + place().schema() + ".trigger('job', '{\"x\":1}')");
    sql().run("select count(*) from claim_runs(workflow_ids(array['job']), 1)");
    EXPECT_EQ(
        sql().value(
            "select record_step(" + run +
            ", 1, 's', 1, 'SUCCESS', 1, output => "
            "jsonb_build_object('x', 2))"
        ),
        "done"
    );
    sql().run("select finish_run(" + run + ", 1, jsonb_build_object('x', 3))");
    EXPECT_EQ(sql().value("select output ->> 'x' from get_run(" + run + ")"), "3");
    EXPECT_EQ(sql().value("select input ->> 'x' from list_runs('job')"), "1");
    EXPECT_EQ(sql().value("select output ->> 'x' from lineage(" + run + ")"), "3");
    EXPECT_EQ(sql().value("select output ->> 'x' from list_steps(" + run + ")"), "2");
    EXPECT_EQ(
        sql().number("select count(*) from list_events(" + run + ") where data -> 'x' is null"), 2
    );
    EXPECT_EQ(
        sql().value(
            "select data ->> 'x' from run_history(" + run + ") where kind = 'run_succeeded'"
        ),
        "3"
    );
    EXPECT_EQ(
        sql().value(
            "select string_agg(distinct table_name || '.' || column_name, ' ') from "
            "information_schema.columns where table_schema = '" +
            place().schema() +
            "' and table_name like '%\\_info' and column_name in ('input', 'output', 'error', "
            "'data') "
            "and data_type <> 'json'"
        ),
        ""
    );
}

// As in the version before: get_run with text, a user's view that uses it, and an input that is not
// JSON.
TEST_P(
    JsonArgumentsTest, an_upgrade_keeps_what_a_user_built_on_text_and_makes_json_of_what_is_stored
) {
    store().create_workflow("job");
    const std::string run =
        std::to_string(workflow("job").trigger(Json{"1"}).execute(store()).id().value());
    sql().run(
        "drop view run_info cascade; create view run_info as select * from run_rows; create "
        "function "
        "get_run(run_id bigint) returns setof run_info language sql stable as $$ select i.* from " +
        place().table("run_info") +
        " i where i.run_id = get_run.run_id $$; comment on function get_run is 'Earlier.'; create "
        "view my_runs as "
        "select upper(input) as input from get_run(" +
        run + ")"
    );
    sql().run(
        "create function lineage(run_id bigint) returns setof run_info language plpgsql as $$ "
        "begin "
        "return query select i.* from " +
        place().table("run_info") +
        " i; end $$; comment on function lineage is 'Earlier.'; create view my_family as select "
        "upper(input) as input from lineage(" +
        run + ")"
    );
    sql().run("update runs set input = 'no json', error = '[1'");
    sql().run("update schema_version set functions = ''");
    store().install();
    EXPECT_EQ(sql().value("select input from my_runs"), "\"NO JSON\"");
    EXPECT_EQ(sql().value("select input from my_family"), "\"NO JSON\"");
    EXPECT_EQ(sql().value("select input #>> '{}' from get_run(" + run + ")"), "no json");
    EXPECT_EQ(sql().value("select error #>> '{}' from list_runs('job')"), "[1");
    EXPECT_TRUE(store().verify().ok());
}

}  // namespace
}  // namespace pawl::test
