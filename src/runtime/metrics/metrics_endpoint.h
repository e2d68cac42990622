// Where a worker's meters can be read from outside. The runtime opens and closes it and knows
// nothing of how it is done.
#pragma once

#include <functional>
#include <memory>

#include "runtime/metrics/meters.h"
#include "seam/engine.h"

namespace pawl::runtime {

class MetricsEndpoint {
public:
    MetricsEndpoint() = default;
    virtual ~MetricsEndpoint() = default;  // nobody can connect any more
    MetricsEndpoint(const MetricsEndpoint&) = delete;
    MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
    [[nodiscard]] virtual int port() const = 0;
};

// The options have MetricsOptions. Throws listen_failed, backend_missing.
using OpenMetrics = std::function<
    std::unique_ptr<MetricsEndpoint>(const WorkerOptions&, std::shared_ptr<const WorkerMeters>)>;

}  // namespace pawl::runtime
