#include <cstdlib>
#include <filesystem>

#include "bare_sqlite.h"
#include "sqlite_bare_runs.h"
#include "workflow_site.h"

namespace bench {

namespace {

// A folder of its own: a watch on one store's folder hears nothing of another's.
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
