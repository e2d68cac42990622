// Where a flow benchmark runs: one backend, a store with two flows, bare connections to it.
#pragma once

#include <memory>
#include <pawl/pawl.h>
#include <string>

#include "bare_flows.h"

namespace bench {

inline const std::string maps_name = "maps";  // a map over the run's input, and a step behind it

// What a server has counted.
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
    virtual void tidy() = 0;   // as a running system has them: vacuumed, analysed, checkpointed
    // Rows as runs of the diamond that have ended leave them; set-based.
    virtual void fill_finished(int runs) = 0;
    virtual void fill_other_flows(int flows, int steps) = 0;  // chains; set-based

    // The store's connections end with it: what they did is counted by then.
    [[nodiscard]] pawl::Store connect() const {
        pawl::ConnectOptions options;
        // That no worker is there yet is meant so.
        options.log = [](pawl::LogLevel level, std::string_view message) {
            if (level == pawl::LogLevel::error) pawl::log_to_stderr(level, message);
        };
        return pawl::connect(url_, options);
    }
    [[nodiscard]] virtual ServerCounts counts() const { return {}; }

    [[nodiscard]] virtual std::unique_ptr<TaskTaker> bare() const = 0;
    // How many bare connections may be worth having.
    [[nodiscard]] virtual int bare_connections() const = 0;
    // By the SQL functions, where there are any.
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
        diamond_id_ = store.workflow(diamond_name).queue.value();
    }

    std::string url_;
    std::int64_t diamond_id_ = 0;
};

// `name` tells stores of one run apart. Throws where the environment names no place.
std::unique_ptr<FlowSite> postgres_flow_site(const std::string& name);
std::unique_ptr<FlowSite> sqlite_flow_site(const std::string& name);

using FlowSiteFactory = std::unique_ptr<FlowSite> (*)(const std::string&);

}  // namespace bench
