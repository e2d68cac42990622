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

}  // namespace

// A claim that finds nothing takes no write lock: waiting workers do not disturb the others.
std::optional<seam::Claim> RowStore::look(const seam::ClaimRequest& request) {
    return read([&](Session& session) -> std::optional<seam::Claim> {
        const ClaimScope scope = find_claim_scope(session, request, options().lease);
        const Timestamp now = current_time(session);
        if (has_work(session, scope, now)) return std::nullopt;
        seam::Claim empty;
        empty.now = now;
        empty.next_due = find_next_due(session, scope.queues, now);
        empty.after = scope.after;
        empty.more = scope.more;
        return empty;
    });
}

seam::Claim RowStore::claim(const seam::ClaimRequest& request) {
    // Behind a full claim of a busy worker there is mostly more: it need not look first.
    const bool expects_more = request.scan == seam::Scan::streaming && last_claim_was_full_;
    if (!expects_more) {
        if (auto empty = look(request)) return std::move(*empty);
    }
    auto claim = change([&](WriteScope& scope) {
        if (!request.steps.empty()) open_lanes(scope.session, request.queues);
        return ClaimTransaction(
                   scope, request, find_claim_scope(scope.session, request, options().lease)
        )
            .claim();
    });
    last_claim_was_full_ = claim.messages.size() == static_cast<std::size_t>(request.max_messages);
    return claim;
}

}  // namespace pawl::rowstore
