// Where a workflow benchmark runs: one backend, a store with one workflow, bare connections to it.
#pragma once

#include <memory>
#include <pawl/pawl.h>
#include <string>

#include "bare_runs.h"

namespace bench {

// An existing one is another process's: it is left as it is.
enum class Place { fresh, existing };

class WorkflowSite {
public:
    virtual ~WorkflowSite() = default;
    [[nodiscard]] virtual std::string backend() const = 0;
    [[nodiscard]] const pawl::Store& store() const { return *store_; }

    virtual void clear() = 0;  // no runs, and tables as small as new ones
    virtual void tidy() = 0;   // as a running system has them: vacuumed, analysed, checkpointed
    // Successes of three steps that ended long ago; set-based, so that a million take seconds.
    virtual void fill_ended(std::int64_t workflow, int runs) = 0;
    // Events in the outbox with this status, of that many aggregates by turns; then tidies the
    // outbox.
    virtual void fill_outbox(const std::string& status, int events, int aggregates) = 0;
    virtual void clear_outbox() = 0;
    [[nodiscard]] virtual std::string url() const = 0;
    [[nodiscard]] virtual std::unique_ptr<BareRuns> bare() const = 0;
    // How many bare connections may be worth having.
    [[nodiscard]] virtual int bare_connections() const = 0;

protected:
    void open_store(const std::string& url, Place place) {
        pawl::ConnectOptions options;
        // That no worker is there yet is meant so.
        options.log = [](pawl::LogLevel level, std::string_view message) {
            if (level == pawl::LogLevel::error) pawl::log_to_stderr(level, message);
        };
        store_ = std::make_unique<pawl::Store>(pawl::connect(url, options));
        if (place == Place::existing) return;
        store_->install();
        store_->create_workflow(workflow_name);
    }
    [[nodiscard]] std::int64_t workflow_id() const {
        return store_->workflow(workflow_name).queue.value();
    }

    std::unique_ptr<pawl::Store> store_;
};

// `name` tells stores of one run apart. Throws where the environment names no place.
std::unique_ptr<WorkflowSite> postgres_workflow_site(const std::string& name, Place place);
std::unique_ptr<WorkflowSite> sqlite_workflow_site(const std::string& name, Place place);

using WorkflowSiteFactory = std::unique_ptr<WorkflowSite> (*)(const std::string&, Place);

}  // namespace bench
