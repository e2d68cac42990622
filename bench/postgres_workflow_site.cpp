#include <cstdlib>
#include <fmt/format.h>

#include "bare_postgres.h"
#include "postgres_bare_runs.h"
#include "workflow_site.h"

namespace bench {

namespace {

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
