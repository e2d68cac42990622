// Counts for people and monitors. Exact at the moment of the call; they read the rows, so do not
// call them in a tight loop on a store with millions of them.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <string>

namespace pawl {

struct QueueStats {
    std::string queue;
    bool paused = false;
    std::int64_t ready = 0;     ///< can be handed out now
    std::int64_t waiting = 0;   ///< delayed or backing off
    std::int64_t leased = 0;    ///< in somebody's hands
    std::int64_t archived = 0;  ///< settled well and kept
    std::int64_t dead = 0;      ///< dead letters
    std::optional<Duration> oldest_ready_age;
};

struct StoreStats {
    std::int64_t queues = 0;
    std::int64_t ready = 0;
    std::int64_t waiting = 0;
    std::int64_t leased = 0;
    std::int64_t archived = 0;
    std::int64_t dead = 0;
    std::int64_t workers_live = 0;
    std::int64_t workers_lost = 0;
    std::int64_t workers_stopped = 0;
    int schema_version = 0;
};

}  // namespace pawl
