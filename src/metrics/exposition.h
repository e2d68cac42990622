// Metric families in Prometheus' format: name, type and help once, then a line per set of labels.
#pragma once

#include <prometheus/metric_family.h>
#include <string>
#include <utility>
#include <vector>

#include "runtime/metrics/meters.h"

namespace pawl::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// The name and help text of a family; documented in docs/metrics.md.
struct Described {
    const char* name;
    const char* help;
};

class Families {
public:
    // `common` are labels of every metric.
    explicit Families(Labels common) : common_(std::move(common)) {}

    // Begins a family. The following metrics are added to it.
    void counters(const Described& what) { begin(what, prometheus::MetricType::Counter); }
    void gauges(const Described& what) { begin(what, prometheus::MetricType::Gauge); }
    void histograms(const Described& what) { begin(what, prometheus::MetricType::Histogram); }

    void counter(const Labels& labels, const runtime::Counter& counter);
    void gauge(const Labels& labels, double value);
    // `unit` is the number of observed units per exposed unit.
    void histogram(const Labels& labels, const runtime::Histogram& histogram, double unit);

    // Returns the families that have a metric.
    [[nodiscard]] std::vector<prometheus::MetricFamily> take() &&;

private:
    void begin(const Described& what, prometheus::MetricType type);
    prometheus::ClientMetric& add(const Labels& labels);

    Labels common_;
    std::vector<prometheus::MetricFamily> families_;
};

}  // namespace pawl::metrics
