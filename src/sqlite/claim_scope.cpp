#include "sqlite/claim_scope.h"

#include <algorithm>
#include <limits>

#include "generated/sqlite_sql.h"

namespace pawl::sqlite {

namespace {

constexpr std::size_t widest = 32;  // queues looked at in one claim, and steps of one skip scan

struct Scan {
    std::vector<QueueId> queues;
    QueueId stopped_at;  // the last one seen, where the scan was cut short
    bool finished = false;
};

QueueId next_queue(Session& session, const store::Statement& next, QueueId after, QueueId last) {
    Rows rows = session.query(next, after.value(), last.value());
    return rows.next() ? rows.id<QueueId>(0) : QueueId();
}

// From behind `after` to the end, then from the start up to it.
Scan skip_scan(Session& session, const store::Statement& next, QueueId after) {
    constexpr QueueId end(std::numeric_limits<std::int64_t>::max());
    Scan scan;
    QueueId position = after;
    bool wrapped = false;
    for (std::size_t steps = 0; steps < widest; ++steps) {
        position = next_queue(session, next, position, wrapped ? after : end);
        scan.stopped_at = position;
        if (position) {
            scan.queues.push_back(position);
        } else if (wrapped) {
            scan.finished = true;
            break;
        } else {
            wrapped = true;  // QueueId() stands before the first
        }
    }
    if (scan.finished) scan.stopped_at = QueueId();
    return scan;
}

std::vector<QueueId> sorted_unique(std::vector<QueueId> ids) {
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

std::vector<QueueId> scan_wide(
    Session& session, const std::vector<QueueId>& wanted, QueueId after, ClaimScope& scope
) {
    const Scan ready = skip_scan(session, sql::next_ready_queue, after);
    const Scan timed = skip_scan(session, sql::next_timed_queue, after);
    scope.more = !ready.finished || !timed.finished;
    // Where the shorter of two cut scans stopped: the next claim goes on there.
    for (const QueueId stopped : {ready.stopped_at, timed.stopped_at}) {
        if (stopped && (!scope.after || stopped < scope.after)) scope.after = stopped;
    }
    std::vector<QueueId> found = ready.queues;
    found.insert(found.end(), timed.queues.begin(), timed.queues.end());
    found = sorted_unique(std::move(found));
    std::erase_if(found, [&](QueueId id) {
        return !std::binary_search(wanted.begin(), wanted.end(), id);
    });
    return found;
}

}  // namespace

ClaimScope find_claim_scope(
    Session& session, const store::ClaimRequest& request, Duration default_lease
) {
    ClaimScope scope;
    std::vector<QueueId> candidates = sorted_unique(request.queues);
    if (candidates.size() > widest)
        candidates = scan_wide(session, candidates, request.after, scope);
    const auto first = std::upper_bound(candidates.begin(), candidates.end(), request.after);
    std::rotate(candidates.begin(), first, candidates.end());

    scope.queues.reserve(candidates.size());
    for (const QueueId id : candidates) {
        Rows rows = session.query(sql::claimable_queue, id);
        if (!rows.next()) continue;
        const Duration own = rows.null(0) ? default_lease : Duration(rows.integer(0));
        scope.queues.push_back({id, request.lease.value_or(own), rows.number(1)});
    }
    // Another queue goes first the next time.
    if (!scope.more) scope.after = scope.queues.empty() ? QueueId() : scope.queues.front().id;
    return scope;
}

}  // namespace pawl::sqlite
