#include "rowstore/claim/claim_scope.h"

#include <algorithm>

#include "model/rules.h"
#include "rowstore/flow/flow_plans.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

// The number of queues searched by one claim, and of steps of one skip scan.
constexpr std::size_t widest = model::rules::wide_set;

struct Scan {
    std::vector<QueueId> queues;
    QueueId stopped_at;  // the last queue seen, if the end was not reached
};

Scan skip_scan(Session& session, const store::Statement& next, QueueId after) {
    Scan scan;
    QueueId position = after;
    for (std::size_t steps = 0; steps < widest; ++steps) {
        Rows rows = session.query(next, position.value());
        if (!rows.next()) return scan;
        position = rows.id<QueueId>(0);
        scan.queues.push_back(position);
    }
    scan.stopped_at = position;
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
    scope.more = ready.stopped_at || timed.stopped_at;
    // The next claim continues at the first position of the scans that did not reach the end.
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

void split_into_lanes(Session& session, const std::vector<std::string>& steps, ClaimScope& scope) {
    std::vector<ScopedQueue> lanes;
    for (const ScopedQueue& flow : scope.queues) {
        const auto plan = read_flow_plan(session, flow.id);
        if (!plan->lanes) scope.needs_lanes = true;
        for (const std::string& step : steps) {
            const auto index = plan->index_of(step);
            if (!index) continue;
            lanes.push_back(flow);
            lanes.back().lane = *index;
        }
    }
    scope.queues = std::move(lanes);
}

}  // namespace

ClaimScope find_claim_scope(
    Session& session, const seam::ClaimRequest& request, Duration default_lease
) {
    ClaimScope scope;
    std::vector<QueueId> candidates = sorted_unique(request.queues);
    if (candidates.size() > widest) {
        candidates = scan_wide(session, candidates, request.after, scope);
        for (const QueueId id : candidates) session.prefetch(sql::claimable_queue, id);
    }
    const auto first = std::upper_bound(candidates.begin(), candidates.end(), request.after);
    std::rotate(candidates.begin(), first, candidates.end());

    scope.queues.reserve(candidates.size());
    for (const QueueId id : candidates) {
        using Row = sql::row::ClaimableQueue;
        Rows rows = session.query(sql::claimable_queue, id);
        if (!rows.next()) continue;
        const bool of_flow = rows.flag(Row::is_flow);
        if (of_flow != (request.work == seam::Work::tasks)) continue;
        const Duration own =
            rows.null(Row::lease_ms) ? default_lease : Duration(rows.integer(Row::lease_ms));
        const bool of_workflow = rows.flag(Row::is_workflow) && !of_flow;
        const AuditLevel audit =
            rows.null(Row::audit) ? AuditLevel::off : to_audit_level(rows.text(Row::audit));
        scope.queues.push_back(
            {id,
             request.lease.value_or(own),
             rows.number(Row::max_strikes),
             of_workflow,
             of_flow,
             audit}
        );
    }
    if (!request.steps.empty()) split_into_lanes(session, request.steps, scope);
    // The next claim starts with another queue.
    if (request.queues.size() <= widest)
        scope.after = scope.queues.empty() ? QueueId() : scope.queues.front().id;
    return scope;
}

std::vector<QueueId> narrow_set(const seam::ClaimRequest& request) {
    std::vector<QueueId> queues = sorted_unique(request.queues);
    if (queues.size() > widest) queues.clear();
    return queues;
}

void open_lanes(Session& session, const std::vector<QueueId>& flows) {
    for (const QueueId flow : flows) {
        if (session.execute(sql::open_lanes, flow) > 0) session.post(sql::fill_lanes, flow);
    }
}

}  // namespace pawl::rowstore
