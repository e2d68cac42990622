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

// Claims of some steps use a separate index and have no position in the flow's queue.
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

    // A claim whose answer is lost may be repeated: see leases_of().
    auto read = read_claim(
        worker_call(claim_statement(request.work), params, IfAnswerLost::repeat), request
    );
    seam::Claim& claim = read.claim;
    if (is_streaming(request)) {
        if (read.looked) {
            if (!last.swept_at || claim.now - *last.swept_at >= model::rules::due_sweep_interval)
                last.swept_at = claim.now;
            // If due rows were left, the next search continues there.
            last.looked_at = std::min(claim.next_due.value_or(claim.now), claim.now);
        }
        remember(request, claim, last);
    }
    return std::move(claim);
}

seam::Dequeued PostgresStore::dequeue(
    const std::string& queue, int max_messages, std::optional<Duration> lease
) {
    Params params;
    params.text(queue).int4(max_messages).milliseconds(lease).int8(options().lease.count());
    auto read = read_claim(worker_call(sql::claim_queue, params, IfAnswerLost::repeat), {});
    return {read.queue, std::move(read.claim)};
}

std::vector<Lease> PostgresStore::leases_of(WorkerId worker, std::span<const QueueId> queues) {
    std::vector<std::int64_t> ids;
    for (const QueueId queue : queues) ids.push_back(queue.value());
    Params params;
    params.int8(worker.value()).int8_array(ids);
    const Rows rows = worker_call(sql::list_leases, params, IfAnswerLost::repeat);
    using Row = sql::row::ListLeases;
    std::vector<Lease> leases;
    leases.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        leases.push_back({MessageId(rows.int8(i, Row::message_id)), rows.int4(i, Row::delivery)});
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
    // Rows that commit late, before the floor, may have to wait for up to a second.
    const bool old = position.floor_priority && claim.now - position.floor_since >= 1s;
    // If a claim was not filled, the next one would not find enough rows after the floor either.
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
