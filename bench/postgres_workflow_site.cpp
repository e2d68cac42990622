#include <cstdlib>
#include <fmt/format.h>

#include "bare_postgres.h"
#include "postgres_bare_runs.h"
#include "workflow_site.h"

namespace bench {

namespace {

constexpr const char* ended_sql = R"(
    insert into {0}.runs (run_id, workflow_id, status, priority, created_at, updated_at, started_at,
                          completed_at, input, output)
    select nextval('{0}.messages_message_id_seq'), {1}, 'SUCCESS', 0, t.at, t.at, t.at, t.at, '{3}', '{3}'
    from generate_series(1, {2}) i
    cross join lateral (select timestamptz '2020-01-01 UTC' + i * interval '1 millisecond') t (at);
    insert into {0}.steps (run_id, step_id, position, status, attempt, delivery, started_at, completed_at, output)
    select r.run_id, s.id, s.place, 'SUCCESS', 1, 1, r.started_at, r.completed_at, '{3}'
    from {0}.runs r cross join (values ('one', 0), ('two', 1), ('three', 2)) s (id, place)
    where r.workflow_id = {1}
)";

constexpr const char* outbox_sql = R"(
    insert into {0}.outbox (event_id, type, payload, aggregate, subject, status, visible_at, created_at, published_at)
    select gen_random_uuid()::text, 'bench.event', '{4}', 'a' || i % {3}, 'a' || i % {3}, '{1}', t.at, t.at,
           case when '{1}' = 'PUBLISHED' then t.at end
    from generate_series(1, {2}) i
    cross join lateral (select now() - ({2} - i) * interval '1 microsecond') t (at)
)";

class PostgresWorkflowSite final : public WorkflowSite {
public:
    PostgresWorkflowSite(const std::string& name, Place place)
        : schema_("bench_" + name), place_(place) {
        const char* url = std::getenv("PAWL_BENCH_POSTGRES_URL");
        if (url == nullptr)
            throw std::runtime_error("PAWL_BENCH_POSTGRES_URL is not set: use ./dev bench");
        url_ = url;
        bare_ = std::make_unique<BarePostgres>(url_);
        bare_->run("set client_min_messages = warning");
        if (place_ == Place::fresh) drop();
        open_store(url_ + "?schema=" + schema_, place_);
    }
    ~PostgresWorkflowSite() override {
        store_.reset();
        if (place_ == Place::fresh) drop();
    }

    std::string backend() const override { return "postgres"; }

    void clear() override {
        bare_->run(fmt::format(
            "truncate {0}.runs, {0}.steps, {0}.messages, {0}.run_tags, {0}.signals, {0}.events, "
            "{0}.awaited_runs, {0}.archive",
            schema_
        ));
    }
    void tidy() override {
        for (const char* table : {"runs", "steps", "messages"})
            bare_->run(fmt::format("vacuum analyze {}.{}", schema_, table));
        bare_->run("checkpoint");
    }

    void fill_ended(std::int64_t workflow, int runs) override {
        bare_->run(fmt::format(ended_sql, schema_, workflow, runs, small_json));
    }
    void fill_outbox(const std::string& status, int events, int aggregates) override {
        bare_->run(fmt::format(outbox_sql, schema_, status, events, aggregates, small_json));
        bare_->run(fmt::format("vacuum analyze {}.outbox", schema_));
        bare_->run("checkpoint");
    }
    void clear_outbox() override { bare_->run(fmt::format("truncate {}.outbox", schema_)); }
    std::string url() const override { return url_ + "?schema=" + schema_; }

    std::unique_ptr<BareRuns> bare() const override {
        return postgres_bare_runs(url_, schema_, workflow_id());
    }
    int bare_connections() const override { return 2; }

private:
    void drop() const { bare_->run(fmt::format("drop schema if exists {} cascade", schema_)); }

    std::string url_;
    std::string schema_;
    Place place_;
    std::unique_ptr<BarePostgres> bare_;
};

}  // namespace

std::unique_ptr<WorkflowSite> postgres_workflow_site(const std::string& name, Place place) {
    return std::make_unique<PostgresWorkflowSite>(name, place);
}

}  // namespace bench
