#include <algorithm>

#include "generated/postgres_sql.h"
#include "model/rules.h"
#include "postgres/batch/claim_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

const store::Statement& claim_statement(seam::Work work) {
    switch (work) {
        case seam::Work::runs:
            return sql::claim_runs;
        case seam::Work::tasks:
            return sql::claim_tasks;
        case seam::Work::messages:
            break;
    }
    return sql::claim;
}

// Claims of some steps have an index of their own, and no position in the flow's queue.
bool is_streaming(const seam::ClaimRequest& request) {
    return request.scan == seam::Scan::streaming && request.steps.empty();
}

}  // namespace

seam::Claim PostgresStore::claim(const seam::ClaimRequest& request) {
    ClaimPosition last = position(request);
    std::vector<std::int64_t> queues;
    queues.reserve(request.queues.size());
    for (const QueueId queue : request.queues) queues.push_back(queue.value());
    Params params;
    params.int8_array(queues).int4(request.max_messages).milliseconds(request.lease);
    if (request.worker) {
        params.int8(request.worker.value());
    } else {
        params.null();
    }
    params.int8(options().lease.count()).int8(request.after.value());
    if (last.floor_priority) {
        params.int4(*last.floor_priority).int8(last.floor_message.value());
    } else {
        params.null().null();
    }
    params.optional(last.looked_at, &Params::time).optional(last.swept_at, &Params::time);

    if (request.work == seam::Work::runs) params.int8(model::rules::claim_step_bytes);
    if (request.work == seam::Work::tasks) {
        if (request.steps.empty()) {
            params.null();
        } else {
            params.text_array(std::span(request.steps));
        }
    }

    // A claim whose answer is lost may be asked for again: see leases_of().
    auto [claim, looked] = read_claim(
        worker_call(claim_statement(request.work), params, IfAnswerLost::repeat), request
    );
    if (is_streaming(request)) {
        if (looked) {
            if (!last.swept_at || claim.now - *last.swept_at >= 10s) last.swept_at = claim.now;
            // Where due rows were left, the next look goes on there.
            last.looked_at = std::min(claim.next_due.value_or(claim.now), claim.now);
        }
        remember(request, claim, last);
    }
    return std::move(claim);
}

std::vector<Lease> PostgresStore::leases_of(WorkerId worker, std::span<const QueueId> queues) {
    std::vector<std::int64_t> ids;
    for (const QueueId queue : queues) ids.push_back(queue.value());
    Params params;
    params.int8(worker.value()).int8_array(ids);
    const Rows rows = worker_call(sql::list_leases, params, IfAnswerLost::repeat);
    std::vector<Lease> leases;
    for (int i = 0; i < rows.size(); ++i)
        leases.push_back({MessageId(rows.int8(i, 0)), rows.int4(i, 1)});
    return leases;
}

PostgresStore::ClaimPosition PostgresStore::position(const seam::ClaimRequest& request) {
    if (!is_streaming(request)) return {};
    const std::lock_guard lock(positions_mutex_);
    return positions_[request.queues];
}

void PostgresStore::remember(
    const seam::ClaimRequest& request, const seam::Claim& claim, ClaimPosition position
) {
    // A second is how long rows that commit late, behind the floor, may have to wait.
    const bool old = position.floor_priority && claim.now - position.floor_since >= 1s;
    // Where a claim was not filled, the next one would not find enough behind the floor either.
    const bool filled = claim.messages.size() >= static_cast<std::size_t>(request.max_messages);
    if (!filled || request.queues.size() != 1 || old) {
        position.floor_priority.reset();
    } else {
        if (!position.floor_priority) position.floor_since = claim.now;
        position.floor_priority = claim.messages.back().priority;
        position.floor_message = claim.messages.back().id;
    }
    const std::lock_guard lock(positions_mutex_);
    positions_[request.queues] = position;
}

}  // namespace pawl::postgres
