// The environment of a workflow benchmark: one backend, a store with one workflow, bare connections
// to it.
#pragma once

#include <memory>
#include <pawl/pawl.h>
#include <string>

#include "bare_runs.h"

namespace bench {

// An existing place belongs to another process and is not changed.
enum class Place { fresh, existing };

class WorkflowSite {
public:
    virtual ~WorkflowSite() = default;
    [[nodiscard]] virtual std::string backend() const = 0;
    [[nodiscard]] const pawl::Store& store() const { return *store_; }

    virtual void clear() = 0;  // no runs, and tables as small as new ones
    virtual void tidy() = 0;   // vacuumed, analysed and checkpointed, like a running system
    // Inserts successful runs with three steps that ended long ago; set-based, so that a million
    // take seconds.
    virtual void fill_ended(std::int64_t workflow, int runs) = 0;
    // Inserts events with this status into the outbox, alternating over the aggregates, and tidies
    // the outbox.
    virtual void fill_outbox(const std::string& status, int events, int aggregates) = 0;
    virtual void clear_outbox() = 0;
    [[nodiscard]] virtual std::string url() const = 0;
    [[nodiscard]] virtual std::unique_ptr<BareRuns> bare() const = 0;
    // The largest number of bare connections to measure.
    [[nodiscard]] virtual int bare_connections() const = 0;

protected:
    void open_store(const std::string& url, Place place) {
        pawl::ConnectOptions options;
        // Suppresses the warning that no worker is running yet.
        options.log = [](pawl::LogLevel level, std::string_view message) {
            if (level == pawl::LogLevel::error) pawl::log_to_stderr(level, message);
        };
        store_ = std::make_unique<pawl::Store>(pawl::connect(url, options));
        if (place == Place::existing) return;
        store_->install();
        store_->create_workflow(workflow_name);
    }
    [[nodiscard]] std::int64_t workflow_id() const {
        return store_->workflow_info(workflow_name).queue.value();
    }

    std::unique_ptr<pawl::Store> store_;
};

// `name` distinguishes the stores of one process. Throws if the environment variable is not set.
std::unique_ptr<WorkflowSite> postgres_workflow_site(const std::string& name, Place place);
std::unique_ptr<WorkflowSite> sqlite_workflow_site(const std::string& name, Place place);

using WorkflowSiteFactory = std::unique_ptr<WorkflowSite> (*)(const std::string&, Place);

}  // namespace bench
