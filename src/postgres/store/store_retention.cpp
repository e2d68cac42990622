#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::PruneBatch;
using seam::PrunedBatch;
using seam::PrunePart;
using seam::PruneTurn;

namespace {

RetentionKind to_kind(std::string_view name) {
    return model::stored_value(model::retention_kinds, name, "retention kind");
}

}  // namespace

// IfAnswerLost::repeat, here and below: these calls are idempotent.
void PostgresStore::set_retention(RetentionKind kind, const std::string& name, const Keep& keep) {
    Params params;
    params.text(to_string(kind)).text(name).milliseconds(keep.age);
    params.optional(keep.count, &Params::int8);
    call(sql::set_retention, params, IfAnswerLost::repeat);
}

void PostgresStore::clear_retention(RetentionKind kind, const std::string& name) {
    Params params;
    params.text(to_string(kind)).text(name);
    call(sql::clear_retention, params, IfAnswerLost::repeat);
}

std::vector<RetentionPolicy> PostgresStore::retention() {
    const Rows rows = call(sql::list_retention, {}, IfAnswerLost::repeat);
    using Row = sql::row::ListRetention;
    std::vector<RetentionPolicy> policies;
    for (int i = 0; i < rows.size(); ++i) {
        RetentionPolicy& policy = policies.emplace_back();
        policy.kind = to_kind(rows.text(i, Row::kind));
        policy.name = rows.text(i, Row::name);
        if (!rows.is_null(i, Row::keep_ms)) policy.keep.age = Duration(rows.int8(i, Row::keep_ms));
        if (!rows.is_null(i, Row::keep_count)) policy.keep.count = rows.int8(i, Row::keep_count);
    }
    return policies;
}

std::vector<PrunePart> PostgresStore::plan_prune() {
    const Rows rows = worker_call(sql::plan_prune, {}, IfAnswerLost::repeat);
    using Row = sql::row::PlanPrune;
    std::vector<PrunePart> parts;
    parts.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        parts.push_back(
            {to_kind(rows.text(i, Row::kind)),
             QueueId(rows.id(i, Row::queue_id)),
             rows.string(i, Row::name)}
        );
    return parts;
}

PrunedBatch PostgresStore::prune_batch(const PruneBatch& batch) {
    Params params;
    params.text(to_string(batch.kind)).int8(batch.queue.value());
    if (batch.after) {
        params.time(batch.after->at).int8(batch.after->id);
    } else {
        params.null().null();
    }
    params.int4(batch.max_rows).boolean(batch.dry_run);
    const Rows rows = worker_call(sql::prune_batch, params, IfAnswerLost::repeat);
    using Row = sql::row::PruneBatch;
    PrunedBatch pruned{rows.int4(0, Row::looked), rows.int8(0, Row::pruned), {}};
    if (pruned.looked > 0) pruned.last = {rows.time(0, Row::last_at), rows.int8(0, Row::last_id)};
    return pruned;
}

seam::PruneGrant PostgresStore::claim_prune(Duration interval, PruneTurn turn) {
    Params params;
    params.int8(interval.count()).boolean(turn == PruneTurn::keep);
    const Rows rows = worker_call(sql::claim_prune, params, IfAnswerLost::repeat);
    using Row = sql::row::ClaimPrune;
    return {rows.boolean(0, Row::granted), Duration(rows.int8(0, Row::wait_ms))};
}

}  // namespace pawl::postgres
