// The counters of a worker. Handlers' threads update them thousands of times per second, so there
// are no locks, lookups or texts: each handler has its meters from the start. Without metrics there
// are none.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <pawl/worker.h>
#include <span>
#include <string>
#include <vector>

namespace pawl::runtime {

class Counter {
public:
    void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_ = 0;
};

// Counts values per bucket: up to the first bound, up to the second, ..., above all.
class Histogram {
public:
    // The bounds are constants, in ascending order.
    explicit Histogram(std::span<const std::int64_t> bounds);
    void observe(std::int64_t value);
    void observe(std::chrono::microseconds time) { observe(time.count()); }

    [[nodiscard]] std::span<const std::int64_t> bounds() const { return bounds_; }
    [[nodiscard]] std::uint64_t count(std::size_t bucket) const { return counts_[bucket].value(); }
    [[nodiscard]] std::int64_t sum() const { return sum_.load(std::memory_order_relaxed); }

private:
    std::span<const std::int64_t> bounds_;
    std::vector<Counter> counts_;
    std::atomic<std::int64_t> sum_ = 0;
};

// The outcome of a run, a task or a message in a worker.
enum class Ending { success, error, cancelled, delegated, released };
inline constexpr std::size_t ending_count = 5;

// The meters of one handler: of a workflow, a flow or a queue.
struct HandlerMeters {
    enum class Kind { runs, tasks, messages };

    explicit HandlerMeters(const HandlerSpec& spec);

    const Kind kind;
    const std::string name;
    std::array<Counter, ending_count> endings;
    Counter retries;  // of runs, tasks or messages
    Counter step_retries;
    Counter steps_succeeded;
    Counter steps_failed;
    Counter lease_losses;
    // In microseconds. For a run from its first start to its end; for a task, or a handler's call
    // with its messages, only the call.
    Histogram duration;
    Histogram step_duration;
};

struct WorkerMeters {
    explicit WorkerMeters(const WorkerOptions& options);
    // The meters of a handler from the same options.
    [[nodiscard]] HandlerMeters* of(const HandlerSpec& spec) const;

    const HandlerSpec* const first_handler;
    const std::vector<std::unique_ptr<HandlerMeters>> handlers;
    std::atomic<int> executing = 0;
    Histogram claim_duration;
    Histogram claim_size;  // messages
    Counter claim_errors;
    Histogram commit_duration;
    Histogram commit_size;  // writes
    Counter commit_errors;
    Counter events_published;
    Counter events_retried;
    Counter events_parked;
    Histogram delivery_duration;
};

}  // namespace pawl::runtime
