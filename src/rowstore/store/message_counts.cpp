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

// The oldest among the first messages of each priority.
void keep_oldest_head(Session& session, QueueId queue, std::optional<Timestamp>& oldest) {
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < model::rules::max_priorities; ++i) {
        Rows rows = session.query(sql::next_priority, queue, below);
        if (!rows.next()) return;
        using Row = sql::row::NextPriority;
        below = rows.integer(Row::priority);
        keep_oldest(oldest, rows.time(Row::visible_at));
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
            using Row = sql::row::CountReady;
            stored = rows.integer(Row::messages);
            keep_oldest(oldest, rows.optional_time(Row::oldest_at));
        }
    }
    if (stored > limit) keep_oldest_head(session, queue, oldest);
    {
        Rows rows = session.query(sql::count_timed, queue, Timestamp::min(), now, limit + 1);
        if (rows.next()) {
            stats.ready = model::bounded(stored + rows.integer(sql::row::CountTimed::messages));
            keep_oldest(oldest, rows.optional_time(sql::row::CountTimed::oldest_at));
        }
    }
    {
        // Waiting and leased messages share an index: twice the limit is read.
        Rows rows = session.query(sql::count_timed, queue, now, Timestamp::max(), 2 * limit + 1);
        if (rows.next()) {
            using Row = sql::row::CountTimed;
            const bool all = rows.integer(Row::messages) <= 2 * limit;
            stats.waiting = model::bounded(rows.integer(Row::waiting));
            stats.leased = model::bounded(rows.integer(Row::leased));
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
        using Row = sql::row::CountHandlers;
        while (rows.next()) workers.emplace(rows.text(Row::queue), rows.integer(Row::workers));
    }
    std::vector<QueueStats> all;
    const auto add = [&](std::optional<std::string_view> name) {
        using Row = sql::row::QueueStates;
        Rows rows = session.query(sql::queue_states, name);
        while (rows.next()) {
            QueueStats& stats = all.emplace_back(
                count_messages(session, rows.id<QueueId>(Row::queue_id), now, archived)
            );
            stats.queue = rows.text(Row::queue);
            stats.paused = rows.flag(Row::paused);
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
    using Row = sql::row::CountWorkers;
    return {rows.integer(Row::live), rows.integer(Row::lost)};
}

}  // namespace pawl::rowstore
