// Counts for people and monitors. They read a bounded number of rows, whatever the store holds.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <pawl/types.h>
#include <string>

namespace pawl::inline v0 {

/// A number of things, counted up to a limit: 10,000 unless a call says otherwise. If there are, or
/// may be, more, `exact` is false and the value is a lower bound.
struct Count {
    std::int64_t value = 0;
    bool exact = true;

    /// The value.
    // NOLINTNEXTLINE(google-explicit-constructor, hicpp-explicit-conversions): it is a number
    operator std::int64_t() const { return value; }
    /// The sum is exact if both are.
    Count& operator+=(const Count& other) {
        value += other.value;
        exact = exact && other.exact;
        return *this;
    }
    /// The sum is exact if both are.
    friend Count operator+(Count a, const Count& b) { return a += b; }
};
/// "17", or "10000+" for a lower bound.
[[nodiscard]] inline std::string to_string(const Count& count) {
    return std::to_string(count.value) + (count.exact ? "" : "+");
}
/// Prints to_string().
inline std::ostream& operator<<(std::ostream& out, const Count& count) {
    return out << to_string(count);
}

/// The state of one queue.
struct QueueStats {
    std::string queue;
    bool paused = false;
    Count ready;     ///< can be delivered now
    Count waiting;   ///< delayed or backing off
    Count leased;    ///< held by a worker or a caller of dequeue
    Count archived;  ///< settled well and kept; in Store::queue_stats() counted up to 1,000
    Count dead;      ///< dead letters; in Store::queue_stats() counted up to 1,000
    /// How long the oldest ready message has been ready. If `ready` is a lower bound, this is a
    /// lower bound too: only counted messages and the first of each priority are compared.
    std::optional<Duration> oldest_ready_age;
    std::int64_t workers = 0;  ///< live workers that have a handler for it
};

/// The sums of Store::queue_stats(), and the workers.
struct StoreStats {
    std::int64_t queues = 0;
    Count ready;
    Count waiting;
    Count leased;
    Count archived;
    Count dead;
    std::int64_t workers_live = 0;  ///< workers that send heartbeats
    std::int64_t workers_lost = 0;  ///< see WorkerInfo::lost
    Count workers_stopped;
    int schema_version = 0;  ///< of the database
};

}  // namespace pawl::inline v0
