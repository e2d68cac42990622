#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "bare_sqlite.h"
#include "flow_site.h"
#include "sqlite_bare_flows.h"

namespace bench {

namespace {

// {0} the flow, {1} how many. A run and its four messages take five numbers.
constexpr const char* finished_sql = R"(
    begin immediate;
    create temporary table finished as
    with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < {1})
    select n * 5 + 1 + (select coalesce(max(seq), 0) from sqlite_sequence
                        where name = 'pawl_messages') as run_id
    from numbers;
    insert into pawl_runs
        (run_id, workflow_id, status, priority, worker_id, created_at, updated_at, started_at,
         completed_at, input, output, remaining_steps)
    select run_id, {0}, 'SUCCESS', 0, 1, 1, 1, 1, 1, '{{"n":1}}', '{{"last":{{"n":1}}}}', 0
    from finished;
    insert into pawl_steps
        (run_id, step_id, position, status, attempt, delivery, started_at, completed_at, output,
         remaining_deps, initial_tasks, remaining_tasks)
    select r.run_id, f.step_slug, f.step_index, 'SUCCESS', 0, 0, 1, 1, '{{"n":1}}', 0, 1, 0
    from finished r cross join pawl_flow_steps f where f.workflow_id = {0};
    insert into pawl_tasks
        (run_id, step_index, task_index, message_id, status, attempts, delivery, worker_id,
         queued_at, started_at, completed_at, output)
    select r.run_id, f.step_index, 0, r.run_id + f.step_index + 1, 'SUCCESS', 1, 1, 1, 1, 1, 1,
           '{{"n":1}}'
    from finished r cross join pawl_flow_steps f where f.workflow_id = {0};
    insert into pawl_messages (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
    select max(run_id) + 5, {0}, 0, 'ready', 1, 1, 'null' from finished;
    delete from pawl_messages where message_id = (select max(run_id) + 5 from finished);
    drop table finished;
    commit;
    analyze)";

// {0} flows, {1} steps of each.
constexpr const char* other_flows_sql = R"(
    begin immediate;
    create temporary table numbers as
    with recursive numbers (n) as (
        select 0 union all select n + 1 from numbers where n + 1 < max({0}, {1})
    )
    select n from numbers;
    insert into pawl_queues (name, keep_archive, max_strikes, max_attempts, created_at)
    select 'other_' || n, 0, 1000, 0, 1 from numbers where n < {0};
    insert into pawl_workflows
        (workflow_id, max_attempts, backoff_base_ms, task_timeout_ms, is_flow, created_at)
    select queue_id, 3, 5000, 60000, 1, 1 from pawl_queues where name like 'other%';
    insert into pawl_flow_steps (workflow_id, step_index, step_slug, step_type, deps_count,
                                 start_delay_ms, when_unmet, when_exhausted, created_at)
    select queue_id, n, 'step_' || n, 'single', min(n, 1), 0, 'skip', 'fail', 1
    from pawl_queues cross join numbers where name like 'other%' and n < {1};
    insert into pawl_flow_deps (workflow_id, step_index, dep_index)
    select queue_id, n, n - 1
    from pawl_queues cross join numbers where name like 'other%' and n > 0 and n < {1};
    drop table numbers;
    commit;
    analyze)";

class SqliteFlowSite final : public FlowSite {
public:
    explicit SqliteFlowSite(const std::string& name) {
        const char* dir = std::getenv("PAWL_BENCH_SQLITE_DIR");
        if (dir == nullptr)
            throw std::runtime_error("PAWL_BENCH_SQLITE_DIR is not set: use ./dev bench");
        // A separate folder, because a watch sees every write in the folder.
        folder_ = std::filesystem::path(dir) / ("flow_" + name);
        file_ = (folder_ / "flows.db").string();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        url_ = "sqlite:" + file_;
        create_flows();
    }
    ~SqliteFlowSite() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::string backend() const override { return "sqlite"; }
    bool has_server() const override { return false; }

    void clear() override {
        const BareSqlite bare(file_);
        for (const char* table : {"runs", "steps", "tasks", "messages", "run_tags", "events"})
            bare.run(std::string("delete from pawl_") + table);
        bare.run("vacuum; pragma wal_checkpoint(truncate)");
    }
    void tidy() override { BareSqlite(file_).run("pragma wal_checkpoint(truncate)"); }
    void fill_finished(int runs) override {
        BareSqlite(file_).run(fmt::format(finished_sql, diamond_id_, runs));
    }
    void fill_other_flows(int flows, int steps) override {
        BareSqlite(file_).run(fmt::format(other_flows_sql, flows, steps));
    }

    std::unique_ptr<TaskTaker> bare() const override {
        return sqlite_bare_flows(file_, diamond_id_);
    }
    int bare_connections() const override { return 1; }

private:
    std::filesystem::path folder_;
    std::string file_;
};

}  // namespace

std::unique_ptr<FlowSite> sqlite_flow_site(const std::string& name) {
    return std::make_unique<SqliteFlowSite>(name);
}

}  // namespace bench
