#include <algorithm>
#include <fmt/format.h>

#include "model/check.h"
#include "model/texts.h"
#include "rowstore/claim/claim_prefetch.h"
#include "rowstore/claim/claim_transaction.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

bool has_work(Session& session, const ClaimScope& scope, Timestamp now) {
    if (scope.needs_lanes) return true;
    for (const ScopedQueue& queue : scope.queues) {
        if (queue.lane) {
            if (session.query(sql::top_lane_priority, queue.id, *queue.lane).next()) return true;
            if (session.query(sql::due_lane_tasks, queue.id, *queue.lane, now, 1).next())
                return true;
            continue;
        }
        if (session.query(sql::top_priority, queue.id).next()) return true;
        if (session.query(sql::due_messages, queue.id, now, 1).next()) return true;
    }
    return false;
}

// The first waiting or leased row, which is read anyway, shows whether one is due.
bool has_ready(Session& session, const ClaimScope& scope) {
    if (scope.needs_lanes) return true;
    return std::ranges::any_of(scope.queues, [&](const ScopedQueue& queue) {
        return queue.lane ? session.query(sql::top_lane_priority, queue.id, *queue.lane).next()
                          : session.query(sql::top_priority, queue.id).next();
    });
}

}  // namespace

// Returns an empty claim if there is no work. Takes no write lock, so that idle workers do not
// block writers.
std::optional<seam::Claim> RowStore::claim_if_idle(const seam::ClaimRequest& request) {
    return read([&](Session& session) -> std::optional<seam::Claim> {
        prefetch_idle_check(session, request);
        const ClaimScope scope = find_claim_scope(session, request, options().lease);
        const Timestamp now = current_time(session);
        seam::Claim empty;
        empty.now = now;
        if (session.round_trips() == RoundTrips::costly) {
            if (!reads_due_ahead(request)) {
                prefetch_top_priority(session, scope.queues);
                prefetch_next_due(session, scope.queues, Timestamp::min());
            }
            if (has_ready(session, scope)) return std::nullopt;
            empty.next_due = find_next_due(session, scope.queues, Timestamp::min());
            if (empty.next_due && *empty.next_due <= now) return std::nullopt;
        } else {
            if (has_work(session, scope, now)) return std::nullopt;
            empty.next_due = find_next_due(session, scope.queues, now);
        }
        empty.after = scope.after;
        empty.more = scope.more;
        return empty;
    });
}

// A plain dequeue cannot end a run or a task.
seam::Dequeued RowStore::dequeue(
    const std::string& queue, int max_messages, std::optional<Duration> lease
) {
    const auto found = find_queue(queue);
    if (!found)
        model::refuse(
            ErrorCode::queue_not_found, fmt::format(model::texts::queue_missing, queue, queue)
        );
    if (found->kind != QueueKind::plain)
        model::refuse(
            ErrorCode::workflow_queue,
            found->kind == QueueKind::flow ? fmt::format(model::texts::queue_of_tasks, queue)
                                           : fmt::format(model::texts::queue_of_runs, queue)
        );
    seam::ClaimRequest request;
    request.queues = {found->id};
    request.max_messages = max_messages;
    request.lease = lease;
    return {found->id, claim(request)};
}

seam::Claim RowStore::claim(const seam::ClaimRequest& request) {
    // After a full claim a busy worker usually finds more work, so it skips the search without a
    // lock.
    const bool expects_more = request.scan == seam::Scan::streaming && last_claim_was_full_;
    if (!expects_more) {
        if (auto empty = claim_if_idle(request)) return std::move(*empty);
    }
    const auto announce = [&](Session& session) { prefetch_claim(session, request); };
    const auto take = [&](WriteScope& scope) {
        if (!request.steps.empty()) open_lanes(scope.session, request.queues);
        return ClaimTransaction(
                   scope, request, find_claim_scope(scope.session, request, options().lease)
        )
            .claim();
    };
    auto claim = change(take, announce);
    last_claim_was_full_ = claim.messages.size() == static_cast<std::size_t>(request.max_messages);
    return claim;
}

}  // namespace pawl::rowstore
