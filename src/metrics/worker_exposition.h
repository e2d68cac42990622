// The metrics in a scrape of a worker: its meters, and the backlog of its store.
#pragma once

#include <memory>
#include <prometheus/collectable.h>

#include "metrics/exposition.h"
#include "metrics/store_sampler.h"
#include "runtime/metrics/meters.h"

namespace pawl::metrics {

class WorkerFamilies final : public prometheus::Collectable {
public:
    WorkerFamilies(
        const WorkerOptions& options,
        std::shared_ptr<const runtime::WorkerMeters> meters,
        std::shared_ptr<seam::Backend> backend
    );

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

private:
    using Kind = runtime::HandlerMeters::Kind;

    void add_endings(Families& families) const;
    void add_endings_of(Families& families, Kind kind, const Described& what) const;
    void add_steps(Families& families) const;
    void add_setbacks(Families& families) const;
    void add_durations(Families& families) const;
    void add_durations_of(Families& families, Kind kind, const Described& what) const;
    void add_database(Families& families) const;
    void add_outbox(Families& families) const;
    void add_worker(Families& families) const;
    void add_store(Families& families) const;
    static void add_queues(Families& families, const seam::Backlog& backlog);

    const std::string worker_;
    const int concurrency_;
    const bool dispatches_;
    const std::shared_ptr<const runtime::WorkerMeters> meters_;
    const std::unique_ptr<StoreSampler> sampler_;
};

}  // namespace pawl::metrics
