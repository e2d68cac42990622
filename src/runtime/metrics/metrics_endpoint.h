// Exposes a worker's meters. The runtime opens and closes it and does not depend on the protocol.
#pragma once

#include <functional>
#include <memory>

#include "runtime/metrics/meters.h"
#include "seam/engine.h"

namespace pawl::seam {
class Backend;
}

namespace pawl::runtime {

class MetricsEndpoint {
public:
    MetricsEndpoint() = default;
    virtual ~MetricsEndpoint() = default;  // stops listening
    MetricsEndpoint(const MetricsEndpoint&) = delete;
    MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
    [[nodiscard]] virtual int port() const = 0;
};

// The options contain MetricsOptions. Throws listen_failed, backend_missing.
using OpenMetrics = std::function<
    std::unique_ptr<MetricsEndpoint>(const WorkerOptions&, std::shared_ptr<const WorkerMeters>)>;

}  // namespace pawl::runtime

namespace pawl::inline v0::detail {

// What the library pawl::metrics provides.
struct MetricsLibrary {
    std::unique_ptr<runtime::MetricsEndpoint> (*open
    )(const WorkerOptions&,
      std::shared_ptr<const runtime::WorkerMeters>,
      std::shared_ptr<seam::Backend>);
};

}  // namespace pawl::inline v0::detail
