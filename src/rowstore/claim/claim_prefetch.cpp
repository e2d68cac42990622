#include "rowstore/claim/claim_prefetch.h"

#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

// The clock is not known yet, so waiting and leased rows are requested from the earliest time on.
void prefetch_queues(Session& session, const seam::ClaimRequest& request) {
    for (const QueueId queue : narrow_set(request)) {
        session.prefetch(sql::claimable_queue, queue);
        if (request.steps.empty()) session.prefetch(sql::next_due, queue, Timestamp::min());
    }
}

void prefetch_top(Session& session, const seam::ClaimRequest& request) {
    for (const QueueId queue : narrow_set(request)) session.prefetch(sql::top_priority, queue);
}

}  // namespace

void prefetch_idle_check(Session& session, const seam::ClaimRequest& request) {
    if (session.round_trips() == RoundTrips::free) return;
    prefetch_queues(session, request);
    if (request.steps.empty()) prefetch_top(session, request);
    session.prefetch(sql::fixed_clock);
}

bool reads_due_ahead(const seam::ClaimRequest& request) {
    return request.steps.empty() && !narrow_set(request).empty();
}

bool reads_top_ahead(const seam::ClaimRequest& request) {
    return request.steps.empty() && narrow_set(request).size() > 1;
}

void prefetch_claim(Session& session, const seam::ClaimRequest& request) {
    if (session.round_trips() == RoundTrips::free) return;
    prefetch_queues(session, request);
    if (reads_top_ahead(request)) prefetch_top(session, request);
    const auto queues = narrow_set(request);
    if (request.work == seam::Work::tasks) {
        for (const QueueId queue : queues) session.prefetch(sql::flow_head, queue);
    }
    if (queues.size() != 1 || !request.steps.empty() || request.max_messages <= 0) return;
    session.prefetch(sql::read_ready, queues.front(), request.max_messages);
    if (request.work == seam::Work::runs)
        session.prefetch(sql::ready_runs, queues.front(), request.max_messages);
}

std::optional<Timestamp> next_due_of(Session& session, const ScopedQueue& queue, Timestamp after) {
    Rows rows = queue.lane ? session.query(sql::next_lane_due, queue.id, *queue.lane, after)
                           : session.query(sql::next_due, queue.id, after);
    if (!rows.next()) return std::nullopt;
    return rows.time(0);
}

void prefetch_next_due(Session& session, const std::vector<ScopedQueue>& queues, Timestamp after) {
    for (const ScopedQueue& queue : queues) {
        if (queue.lane) {
            session.prefetch(sql::next_lane_due, queue.id, *queue.lane, after);
        } else {
            session.prefetch(sql::next_due, queue.id, after);
        }
    }
}

void prefetch_top_priority(Session& session, const std::vector<ScopedQueue>& queues) {
    for (const ScopedQueue& queue : queues) {
        if (queue.lane) {
            session.prefetch(sql::top_lane_priority, queue.id, *queue.lane);
        } else {
            session.prefetch(sql::top_priority, queue.id);
        }
    }
}

std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
) {
    std::optional<Timestamp> earliest;
    for (const ScopedQueue& queue : queues) {
        const auto first = next_due_of(session, queue, after);
        if (first && (!earliest || *first < *earliest)) earliest = first;
    }
    return earliest;
}

}  // namespace pawl::rowstore
