#include "metrics/exposition.h"

#include <algorithm>
#include <limits>

namespace pawl::metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

void Families::begin(const Described& what, prometheus::MetricType type) {
    families_.push_back({what.name, what.help, type, {}});
}

ClientMetric& Families::add(const Labels& labels) {
    ClientMetric& metric = families_.back().metric.emplace_back();
    for (const auto& [name, value] : common_) metric.label.push_back({name, value});
    for (const auto& [name, value] : labels) metric.label.push_back({name, value});
    return metric;
}

void Families::counter(const Labels& labels, const runtime::Counter& counter) {
    add(labels).counter.value = static_cast<double>(counter.value());
}

void Families::gauge(const Labels& labels, double value) {
    add(labels).gauge.value = value;
}

// Values are added concurrently, so the count is the sum of the buckets read, which keeps them
// consistent.
void Families::histogram(const Labels& labels, const runtime::Histogram& histogram, double unit) {
    ClientMetric::Histogram& shown = add(labels).histogram;
    shown.sample_sum = static_cast<double>(histogram.sum()) / unit;
    const auto bounds = histogram.bounds();
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
        shown.sample_count += histogram.count(i);
        const double bound = i < bounds.size() ? static_cast<double>(bounds[i]) / unit
                                               : std::numeric_limits<double>::infinity();
        shown.bucket.push_back({shown.sample_count, bound});
    }
}

std::vector<MetricFamily> Families::take() && {
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::move(families_);
}

}  // namespace pawl::metrics
