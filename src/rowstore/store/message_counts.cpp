#include "rowstore/store/message_counts.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

std::int64_t count_one(
    Session& session, const store::Statement& statement, QueueId queue, std::int64_t limit
) {
    Rows rows = session.query(statement, queue, limit + 1);
    return rows.next() ? rows.integer(0) : 0;
}

void keep_oldest(std::optional<Timestamp>& oldest, const std::optional<Timestamp>& found) {
    if (found && (!oldest || *found < *oldest)) oldest = found;
}

// The first message of each priority.
void keep_oldest_head(Session& session, QueueId queue, std::optional<Timestamp>& oldest) {
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < model::rules::max_priorities; ++i) {
        Rows rows = session.query(sql::next_priority, queue, below);
        if (!rows.next()) return;
        below = rows.integer(0);
        keep_oldest(oldest, rows.time(1));
    }
}

}  // namespace

QueueStats count_messages(Session& session, QueueId queue, Timestamp now, std::int64_t archived) {
    constexpr std::int64_t limit = model::rules::count_limit;
    QueueStats stats;
    std::optional<Timestamp> oldest;
    std::int64_t stored = 0;
    {
        Rows rows = session.query(sql::count_ready, queue, limit + 1);
        if (rows.next()) {
            stored = rows.integer(0);
            keep_oldest(oldest, rows.optional_time(1));
        }
    }
    if (stored > limit) keep_oldest_head(session, queue, oldest);
    {
        Rows rows = session.query(sql::count_timed, queue, Timestamp::min(), now, limit + 1);
        if (rows.next()) {
            stats.ready = model::bounded(stored + rows.integer(0));
            keep_oldest(oldest, rows.optional_time(3));
        }
    }
    {
        // The two share an index: twice the limit is read.
        Rows rows = session.query(sql::count_timed, queue, now, Timestamp::max(), 2 * limit + 1);
        if (rows.next()) {
            const bool all = rows.integer(0) <= 2 * limit;
            stats.waiting = model::bounded(rows.integer(1));
            stats.leased = model::bounded(rows.integer(2));
            stats.waiting.exact = stats.waiting.exact && all;
            stats.leased.exact = stats.leased.exact && all;
        }
    }
    stats.archived = model::bounded(count_one(session, sql::count_done, queue, archived), archived);
    stats.dead = model::bounded(count_one(session, sql::count_dead, queue, archived), archived);
    if (oldest) stats.oldest_ready_age = std::chrono::round<Duration>(now - *oldest);
    return stats;
}

std::vector<QueueStats> read_queue_stats(
    Session& session,
    std::optional<std::span<const std::string>> only,
    Timestamp now,
    std::int64_t archived
) {
    std::unordered_map<std::string, std::int64_t> workers;
    {
        Rows rows = session.query(sql::count_handlers, now);
        while (rows.next()) workers.emplace(rows.text(0), rows.integer(1));
    }
    std::vector<QueueStats> all;
    const auto add = [&](std::optional<std::string_view> name) {
        Rows rows = session.query(sql::queue_states, name);
        while (rows.next()) {
            QueueStats& stats =
                all.emplace_back(count_messages(session, rows.id<QueueId>(0), now, archived));
            stats.queue = rows.text(1);
            stats.paused = rows.flag(2);
            const auto handled = workers.find(stats.queue);
            if (handled != workers.end()) stats.workers = handled->second;
        }
    };
    if (only) {
        for (const std::string& name : *only) add(name);
        std::ranges::sort(all, {}, &QueueStats::queue);
    } else {
        add(std::nullopt);
    }
    return all;
}

WorkerCounts count_workers(Session& session, Timestamp now) {
    Rows rows = session.query(sql::count_workers, now);
    if (!rows.next()) return {};
    return {rows.integer(0), rows.integer(1)};
}

}  // namespace pawl::rowstore
