// Retention: policies for what is removed automatically, and when.
//
//   store.set_retention(RetentionKind::success, "report", {.age = 30 * 24h});
//   store.set_retention(RetentionKind::archive, "mail", {.age = 7 * 24h, .count = 100'000});
//   store.set_retention(RetentionKind::failed, pawl::all_names, {.age = 90 * 24h});
//   store.prune({.dry_run = true});  // what would go
//
// Without a policy nothing is removed, except soft-deleted runs and stopped or lost workers, after
// 7 days. Workers prune every ConnectOptions::prune_interval, a little at a time; Store::prune()
// does it now. See docs/retention.md.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// What a policy concerns. The first three belong to a workflow, the next two to a queue, the
/// others to the whole store.
enum class RetentionKind {
    success,       ///< runs that succeeded, with everything that belongs to them; by their end
    failed,        ///< the same for runs that ended as ERROR or CANCELLED
    events,        ///< the events that WorkflowOptions::audit kept; by the end of their run
    archive,       ///< archived messages that were done; by when they were archived
    dead_letters,  ///< the same for dead letters
    outbox,        ///< published events; by when they were published
    deleted,       ///< soft-deleted runs; by when they were deleted
    workers        ///< stopped and lost workers; by their last heartbeat
};
/// The name, the same as in SQL: "success", ..., "dead-letters", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(RetentionKind kind);

/// What is kept. If both are set, an item is kept while it is younger than `age` and among the
/// newest `count`. If none is set, everything is kept forever.
struct Keep {
    std::optional<Duration> age = {};        ///< 0 to 100 years
    std::optional<std::int64_t> count = {};  ///< 0 to 1,000,000; not for events, deleted, workers
};

/// As the name of a policy: every workflow or queue that has no policy of that kind of its own.
inline constexpr const char* all_names = "*";

/// A policy as it is stored.
struct RetentionPolicy {
    RetentionKind kind = RetentionKind::success;
    std::string name;  ///< the workflow or queue; all_names: for all; empty: the whole store
    Keep keep;
};

/// The options of Store::prune().
struct PruneOptions {
    bool dry_run = false;  ///< counts what would be removed, and removes nothing
    /// Rows per transaction, 1 to 10,000; reduced automatically if a transaction takes long.
    int batch_rows = 500;
    int share = 50;  ///< percentage of time spent pruning; the rest is pauses between batches
};

/// What Store::prune() removed.
struct PruneReport {
    /// What one policy removed.
    struct Part {
        RetentionKind kind = RetentionKind::success;
        std::string name;
        std::int64_t pruned = 0;  ///< runs, events, messages or workers
    };
    bool dry_run = false;
    std::vector<Part> parts;   ///< one per policy
    std::int64_t batches = 0;  ///< number of transactions
    /// The sum over all policies.
    [[nodiscard]] std::int64_t total() const {
        std::int64_t sum = 0;
        for (const Part& part : parts) sum += part.pruned;
        return sum;
    }
};

}  // namespace pawl::inline v0
