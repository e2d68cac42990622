// Retention: what is removed by itself, and when.
//
//   store.set_retention(RetentionKind::success, "report", {.age = 30 * 24h});
//   store.set_retention(RetentionKind::archive, "mail", {.age = 7 * 24h, .count = 100'000});
//   store.set_retention(RetentionKind::failed, pawl::all_names, {.age = 90 * 24h});
//   store.prune({.dry_run = true});  // what would go
//
// Without a policy nothing is removed, except soft-deleted runs and stopped or lost workers, after
// 7 days. Workers prune every so often, a little at a time; prune() does it now. See
// docs/retention.md.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// success, failed (ERROR and CANCELLED): runs of a workflow, by when they ended, with all that
/// belongs to them. events: what the audit of a workflow has kept, by when the run ended.
/// archive, dead_letters: of a queue, by when they were archived. Of the whole store: outbox
/// (published events, by when), deleted (soft-deleted runs), workers (stopped and lost ones, by
/// their last heartbeat).
enum class RetentionKind {
    success,
    failed,
    events,
    archive,
    dead_letters,
    outbox,
    deleted,
    workers
};
[[nodiscard]] std::string_view to_string(RetentionKind kind);  ///< ..., dead-letters, ...

/// What stays. With both, a thing stays while it is younger than `age` and among the newest
/// `count`; with neither, for ever.
struct Keep {
    std::optional<Duration> age = {};        ///< 0 to 100 years
    std::optional<std::int64_t> count = {};  ///< 0 to 1,000,000; not of events, deleted, workers
};

/// As the name of a policy: every workflow or queue that has no policy of that kind of its own.
inline constexpr const char* all_names = "*";

struct RetentionPolicy {
    RetentionKind kind = RetentionKind::success;
    std::string name;  ///< the workflow or queue; all_names: for all; empty: the whole store
    Keep keep;
};

struct PruneOptions {
    bool dry_run = false;  ///< counts what would go, and removes nothing
    int batch_rows = 500;  ///< at most in one transaction: 1 to 10000; less where they take long
    int share = 50;        ///< percent of the time that it works; it pauses between batches
};

struct PruneReport {
    struct Part {
        RetentionKind kind = RetentionKind::success;
        std::string name;
        std::int64_t pruned = 0;  ///< runs, events, messages or workers
    };
    bool dry_run = false;
    std::vector<Part> parts;  ///< one per policy
    std::int64_t batches = 0;
    [[nodiscard]] std::int64_t total() const {
        std::int64_t sum = 0;
        for (const Part& part : parts) sum += part.pruned;
        return sum;
    }
};

}  // namespace pawl
