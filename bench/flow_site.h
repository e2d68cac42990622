// The environment of a flow benchmark: one backend, a store with two flows, bare connections to it.
#pragma once

#include <memory>
#include <pawl/pawl.h>
#include <string>

#include "bare_flows.h"

namespace bench {

inline const std::string maps_name = "maps";  // a map over the run's input, followed by a step

// Counters of the server.
struct ServerCounts {
    double rows = 0;  // inserted, updated, deleted
    double commits = 0;
};

class FlowSite {
public:
    virtual ~FlowSite() = default;
    [[nodiscard]] virtual std::string backend() const = 0;
    [[nodiscard]] virtual bool has_server() const = 0;

    virtual void clear() = 0;  // no runs, and tables as small as new ones
    virtual void tidy() = 0;   // vacuumed, analysed and checkpointed, like a running system
    // Inserts the rows of finished runs of the diamond, set-based.
    virtual void fill_finished(int runs) = 0;
    virtual void fill_other_flows(int flows, int steps) = 0;  // chains; set-based

    // The store's connections are closed with it, so the server has counted them by then.
    [[nodiscard]] pawl::Store connect() const {
        pawl::ConnectOptions options;
        // Suppresses the warning that no worker is running yet.
        options.log = [](pawl::LogLevel level, std::string_view message) {
            if (level == pawl::LogLevel::error) pawl::log_to_stderr(level, message);
        };
        return pawl::connect(url_, options);
    }
    [[nodiscard]] virtual ServerCounts counts() const { return {}; }

    [[nodiscard]] virtual std::unique_ptr<TaskTaker> bare() const = 0;
    // The largest number of bare connections to measure.
    [[nodiscard]] virtual int bare_connections() const = 0;
    // A worker that uses the SQL functions, if there are any.
    [[nodiscard]] virtual std::unique_ptr<TaskTaker> sql_worker() const { return nullptr; }

protected:
    void create_flows() {
        const auto store = connect();
        store.install();
        pawl::flow(diamond_name)
            .step("first")
            .step("left", {"first"})
            .step("right", {"first"})
            .step("last", {"left", "right"})
            .create(store);
        pawl::flow(maps_name).map("each").step("sum", {"each"}).create(store);
        diamond_id_ = store.workflow_info(diamond_name).queue.value();
    }

    std::string url_;
    std::int64_t diamond_id_ = 0;
};

// `name` distinguishes the stores of one process. Throws if the environment variable is not set.
std::unique_ptr<FlowSite> postgres_flow_site(const std::string& name);
std::unique_ptr<FlowSite> sqlite_flow_site(const std::string& name);

using FlowSiteFactory = std::unique_ptr<FlowSite> (*)(const std::string&);

}  // namespace bench
