#include "runtime/metrics/meters.h"

#include <algorithm>

namespace pawl::runtime {

namespace {

// Bounds in microseconds. Half a millisecond to a day, for the user's code.
constexpr std::array<std::int64_t, 21> work_times{
    500,           1'000,          2'500,         5'000,      10'000,      25'000,
    50'000,        100'000,        250'000,       500'000,    1'000'000,   2'500'000,
    5'000'000,     10'000'000,     30'000'000,    60'000'000, 300'000'000, 900'000'000,
    3'600'000'000, 14'400'000'000, 86'400'000'000};
// A tenth of a millisecond to ten seconds, for the database and sinks.
constexpr std::array<std::int64_t, 15> call_times{
    100,
    250,
    500,
    1'000,
    2'500,
    5'000,
    10'000,
    25'000,
    50'000,
    100'000,
    250'000,
    500'000,
    1'000'000,
    2'500'000,
    10'000'000};
constexpr std::array<std::int64_t, 12> sizes{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1'000, 2'000};

HandlerMeters::Kind meter_kind(const HandlerSpec& spec) {
    if (spec.flow) return HandlerMeters::Kind::tasks;
    return spec.workflow ? HandlerMeters::Kind::runs : HandlerMeters::Kind::messages;
}

std::vector<std::unique_ptr<HandlerMeters>> meters_of(const std::vector<HandlerSpec>& specs) {
    std::vector<std::unique_ptr<HandlerMeters>> meters;
    meters.reserve(specs.size());
    for (const HandlerSpec& spec : specs) meters.push_back(std::make_unique<HandlerMeters>(spec));
    return meters;
}

}  // namespace

Histogram::Histogram(std::span<const std::int64_t> bounds)
    : bounds_(bounds), counts_(bounds.size() + 1) {}

void Histogram::observe(std::int64_t value) {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)].add();
    sum_.fetch_add(value, std::memory_order_relaxed);
}

HandlerMeters::HandlerMeters(const HandlerSpec& spec)
    : kind(meter_kind(spec)), name(spec.queue), duration(work_times), step_duration(work_times) {}

WorkerMeters::WorkerMeters(const WorkerOptions& options)
    : first_handler(options.handlers.data()),
      handlers(meters_of(options.handlers)),
      claim_duration(call_times),
      claim_size(sizes),
      commit_duration(call_times),
      commit_size(sizes),
      delivery_duration(call_times) {}

HandlerMeters* WorkerMeters::of(const HandlerSpec& spec) const {
    return handlers[static_cast<std::size_t>(&spec - first_handler)].get();
}

}  // namespace pawl::runtime
