// Metric families as Prometheus wants them: a name, a type and help once, then a line per set of
// labels.
#pragma once

#include <prometheus/metric_family.h>
#include <string>
#include <utility>
#include <vector>

#include "runtime/metrics/meters.h"

namespace pawl::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// A family's name and help; docs/metrics.md has the same.
struct Described {
    const char* name;
    const char* help;
};

class Families {
public:
    // `common` are the labels of every metric.
    explicit Families(Labels common) : common_(std::move(common)) {}

    // Each goes to the family that was begun last.
    void counters(const Described& what) { begin(what, prometheus::MetricType::Counter); }
    void gauges(const Described& what) { begin(what, prometheus::MetricType::Gauge); }
    void histograms(const Described& what) { begin(what, prometheus::MetricType::Histogram); }

    void counter(const Labels& labels, const runtime::Counter& counter);
    void gauge(const Labels& labels, double value);
    // `unit` is how many of what was observed make one of what is shown.
    void histogram(const Labels& labels, const runtime::Histogram& histogram, double unit);

    // Those that have a metric.
    [[nodiscard]] std::vector<prometheus::MetricFamily> take() &&;

private:
    void begin(const Described& what, prometheus::MetricType type);
    prometheus::ClientMetric& add(const Labels& labels);

    Labels common_;
    std::vector<prometheus::MetricFamily> families_;
};

}  // namespace pawl::metrics
