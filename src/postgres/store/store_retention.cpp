#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::PruneBatch;
using seam::PrunedBatch;
using seam::PrunePart;
using seam::PruneTurn;

namespace {

RetentionKind kind_in(const Rows& rows, int row) {
    return model::stored_value(model::retention_kinds, rows.text(row, 0), "retention kind");
}

}  // namespace

// IfAnswerLost::repeat, here and below: where an answer is lost, a second call does no harm.
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
    std::vector<RetentionPolicy> policies;
    for (int i = 0; i < rows.size(); ++i) {
        RetentionPolicy& policy = policies.emplace_back();
        policy.kind = kind_in(rows, i);
        policy.name = rows.text(i, 1);
        if (!rows.is_null(i, 2)) policy.keep.age = Duration(rows.int8(i, 2));
        if (!rows.is_null(i, 3)) policy.keep.count = rows.int8(i, 3);
    }
    return policies;
}

std::vector<PrunePart> PostgresStore::plan_prune() {
    const Rows rows = worker_call(sql::plan_prune, {}, IfAnswerLost::repeat);
    std::vector<PrunePart> parts;
    for (int i = 0; i < rows.size(); ++i)
        parts.push_back({kind_in(rows, i), QueueId(rows.id(i, 1)), std::string(rows.text(i, 2))});
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
    PrunedBatch pruned{rows.int4(0, 0), rows.int8(0, 1), {}};
    if (pruned.looked > 0) pruned.last = {rows.time(0, 2), rows.int8(0, 3)};
    return pruned;
}

seam::PruneGrant PostgresStore::claim_prune(Duration interval, PruneTurn turn) {
    Params params;
    params.int8(interval.count()).boolean(turn == PruneTurn::keep);
    const Rows rows = worker_call(sql::claim_prune, params, IfAnswerLost::repeat);
    return {rows.boolean(0, 0), Duration(rows.int8(0, 1))};
}

}  // namespace pawl::postgres
