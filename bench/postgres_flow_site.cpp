#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

#include "bare_postgres.h"
#include "flow_site.h"
#include "postgres_bare_flows.h"

namespace bench {

namespace {

// {0} the schema, {1} the flow, {2} how many. A run and its four messages take five numbers.
constexpr const char* finished_sql = R"(
    begin;
    select setval('{0}.messages_message_id_seq', nextval('{0}.messages_message_id_seq') + 5 * {2});
    create temporary table finished on commit drop as
    select currval('{0}.messages_message_id_seq') - 5 * n as run_id
    from generate_series(1, {2}) as n;
    insert into {0}.runs
        (run_id, workflow_id, status, priority, worker_id, created_at, updated_at, started_at,
         completed_at, input, output, remaining_steps)
    select run_id, {1}, 'SUCCESS', 0, 1, now(), now(), now(), now(), '{{"n":1}}',
           '{{"last":{{"n":1}}}}', 0
    from finished order by run_id;
    insert into {0}.steps
        (run_id, step_id, position, status, attempt, delivery, started_at, completed_at, output,
         remaining_deps, initial_tasks, remaining_tasks)
    select r.run_id, f.step_slug, f.step_index, 'SUCCESS', 0, 0, now(), now(), '{{"n":1}}', 0, 1, 0
    from finished r cross join {0}.flow_steps f where f.workflow_id = {1}
    order by r.run_id, f.step_index;
    insert into {0}.tasks
        (run_id, step_index, task_index, message_id, status, attempts, delivery, worker_id,
         queued_at, started_at, completed_at, output)
    select r.run_id, f.step_index, 0, r.run_id + f.step_index + 1, 'SUCCESS', 1, 1, 1, now(), now(),
           now(), '{{"n":1}}'
    from finished r cross join {0}.flow_steps f where f.workflow_id = {1}
    order by r.run_id, f.step_index;
    commit)";

// {1} flows, {2} steps of each.
constexpr const char* other_flows_sql = R"(
    begin;
    insert into {0}.queues (name, keep_archive, max_strikes, max_attempts, created_at)
    select 'other_' || n, false, 1000, 0, now() from generate_series(1, {1}) as n;
    insert into {0}.workflows
        (workflow_id, max_attempts, backoff_base_ms, task_timeout_ms, is_flow, created_at)
    select queue_id, 3, 5000, 60000, true, now() from {0}.queues where name like 'other\_%';
    insert into {0}.flow_steps (workflow_id, step_index, step_slug, step_type, deps_count,
                                start_delay_ms, when_unmet, when_exhausted, created_at)
    select queue_id, n, 'step_' || n, 'single', least(n, 1), 0, 'skip', 'fail', now()
    from {0}.queues cross join generate_series(0, {2} - 1) as n where name like 'other\_%';
    insert into {0}.flow_deps (workflow_id, step_index, dep_index)
    select queue_id, n, n - 1
    from {0}.queues cross join generate_series(1, {2} - 1) as n where name like 'other\_%';
    commit;
    analyze {0}.queues, {0}.workflows, {0}.flow_steps, {0}.flow_deps)";

class PostgresFlowSite final : public FlowSite {
public:
    explicit PostgresFlowSite(const std::string& name) : schema_("bench_flow_" + name) {
        const char* url = std::getenv("PAWL_BENCH_POSTGRES_URL");
        if (url == nullptr)
            throw std::runtime_error("PAWL_BENCH_POSTGRES_URL is not set: use ./dev bench");
        server_ = url;
        url_ = server_ + "?schema=" + schema_;
        bare_ = std::make_unique<BarePostgres>(server_);
        bare_->run("set client_min_messages = warning; set application_name = 'bench'");
        drop();
        create_flows();
    }
    ~PostgresFlowSite() override { drop(); }

    std::string backend() const override { return "postgres"; }
    bool has_server() const override { return true; }

    void clear() override {
        bare_->run(fmt::format(
            "truncate {0}.runs, {0}.steps, {0}.tasks, {0}.messages, {0}.run_tags, {0}.events, "
            "{0}.awaited_runs",
            schema_
        ));
    }
    void tidy() override {
        for (const char* table : {"runs", "steps", "tasks", "messages"})
            bare_->run(fmt::format("vacuum analyze {}.{}", schema_, table));
        bare_->run("checkpoint");
    }
    void fill_finished(int runs) override {
        bare_->run(fmt::format(finished_sql, schema_, diamond_id_, runs));
    }
    void fill_other_flows(int flows, int steps) override {
        bare_->run(fmt::format(other_flows_sql, schema_, flows, steps));
    }

    ServerCounts counts() const override {
        wait_for_others_to_go();
        bare_->run("select pg_stat_force_next_flush()");
        const auto result = bare_->check(PQexec(
            bare_->connection,
            fmt::format(
                "select (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables "
                "        where schemaname = '{}'), "
                "       (select xact_commit from pg_stat_database "
                "        where datname = current_database())",
                schema_
            )
                .c_str()
        ));
        return {
            std::stod(PQgetvalue(result.get(), 0, 0)), std::stod(PQgetvalue(result.get(), 0, 1))};
    }

    std::unique_ptr<TaskTaker> bare() const override {
        return postgres_bare_flows(server_, schema_, diamond_id_);
    }
    int bare_connections() const override { return 2; }
    std::unique_ptr<TaskTaker> sql_worker() const override {
        return postgres_sql_worker(server_, schema_);
    }

private:
    void drop() const { bare_->run(fmt::format("drop schema if exists {} cascade", schema_)); }

    // The counters of a backend are complete when it has ended.
    void wait_for_others_to_go() const {
        for (int tries = 0; tries < 500; ++tries) {
            const auto others = bare_->check(PQexec(
                bare_->connection,
                "select from pg_stat_activity where backend_type = 'client backend' "
                "and datname = current_database() and pid <> pg_backend_pid() "
                "and application_name <> 'bench'"
            ));
            if (PQntuples(others.get()) == 0) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        throw std::runtime_error("connections of the benchmark are still open");
    }

    std::string server_;
    std::string schema_;
    std::unique_ptr<BarePostgres> bare_;
};

}  // namespace

std::unique_ptr<FlowSite> postgres_flow_site(const std::string& name) {
    return std::make_unique<PostgresFlowSite>(name);
}

}  // namespace bench
