// Prometheus' way to read a worker's meters: GET /metrics over HTTP.
#pragma once

#include "runtime/metrics/metrics_endpoint.h"
#include "seam/backend.h"

namespace pawl::metrics {

// Listens when it returns. Throws listen_failed; backend_missing where this build has no metrics.
[[nodiscard]] std::unique_ptr<runtime::MetricsEndpoint> open_endpoint(
    const WorkerOptions& options,
    std::shared_ptr<const runtime::WorkerMeters> meters,
    std::shared_ptr<seam::Backend> backend
);

}  // namespace pawl::metrics
