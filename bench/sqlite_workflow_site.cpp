#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "bare_sqlite.h"
#include "sqlite_bare_runs.h"
#include "workflow_site.h"

namespace bench {

namespace {

// A temporary message with the highest number prevents the reuse of their numbers.
constexpr const char* ended_sql = R"(
    begin;
    insert into pawl_runs (run_id, workflow_id, status, priority, created_at, updated_at, started_at,
                           completed_at, input, output)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < {1})
    select 1000000 + i, {0}, 'SUCCESS', 0, i, i, i, i, '{2}', '{2}' from n;
    insert into pawl_steps (run_id, step_id, position, status, attempt, delivery, started_at, completed_at,
                            output)
    select r.run_id, s.column1, s.column2, 'SUCCESS', 1, 1, r.started_at, r.completed_at, '{2}'
    from pawl_runs r cross join (values ('one', 0), ('two', 1), ('three', 2)) s
    where r.workflow_id = {0};
    insert into pawl_messages (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
    select max(run_id) + 1, {0}, 0, 'ready', 1, 1, 'null' from pawl_runs;
    delete from pawl_messages where message_id = (select max(run_id) + 1 from pawl_runs);
    commit;
)";

constexpr const char* outbox_sql = R"(
    with recursive n (i) as (select 1 union all select i + 1 from n where i < {1})
    insert into pawl_outbox (event_id, type, payload, aggregate, subject, status, visible_at, created_at, published_at)
    select lower(hex(randomblob(16))), 'bench.event', '{3}', 'a' || i % {2}, 'a' || i % {2}, '{0}', i, i,
           case when '{0}' = 'PUBLISHED' then i end
    from n
)";

class SqliteWorkflowSite final : public WorkflowSite {
public:
    SqliteWorkflowSite(const std::string& name, Place place) : place_(place) {
        const char* dir = std::getenv("PAWL_BENCH_SQLITE_DIR");
        if (dir == nullptr)
            throw std::runtime_error("PAWL_BENCH_SQLITE_DIR is not set: use ./dev bench");
        folder_ = std::filesystem::path(dir) / name;
        file_ = (folder_ / "runs.db").string();
        if (place_ == Place::fresh) {
            std::filesystem::remove_all(folder_);
            std::filesystem::create_directories(folder_);
        }
        open_store("sqlite:" + file_, place_);
    }
    ~SqliteWorkflowSite() override {
        store_.reset();
        std::error_code ignored;
        if (place_ == Place::fresh) std::filesystem::remove_all(folder_, ignored);
    }

    std::string backend() const override { return "sqlite"; }

    void clear() override {
        const BareSqlite bare(file_);
        for (const char* table : {"runs", "steps", "messages", "run_tags", "signals", "events"})
            bare.run(std::string("delete from pawl_") + table);
        bare.run("vacuum; pragma wal_checkpoint(truncate)");
    }
    void tidy() override { BareSqlite(file_).run("pragma wal_checkpoint(truncate)"); }

    void fill_ended(std::int64_t workflow, int runs) override {
        BareSqlite(file_).run(fmt::format(ended_sql, workflow, runs, small_json));
    }
    void fill_outbox(const std::string& status, int events, int aggregates) override {
        BareSqlite(file_).run(fmt::format(outbox_sql, status, events, aggregates, small_json));
        tidy();
    }
    void clear_outbox() override { BareSqlite(file_).run("delete from pawl_outbox"); }
    std::string url() const override { return "sqlite:" + file_; }

    std::unique_ptr<BareRuns> bare() const override {
        return sqlite_bare_runs(file_, workflow_id());
    }
    int bare_connections() const override { return 1; }

private:
    Place place_;
    std::filesystem::path folder_;
    std::string file_;
};

}  // namespace

std::unique_ptr<WorkflowSite> sqlite_workflow_site(const std::string& name, Place place) {
    return std::make_unique<SqliteWorkflowSite>(name, place);
}

}  // namespace bench
