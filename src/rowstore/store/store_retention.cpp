#include <algorithm>
#include <fmt/format.h>

#include "model/check_retention.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/prune/prune_transaction.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::PruneBatch;
using seam::PrunedBatch;
using seam::PruneGrant;
using seam::PrunePart;
using seam::PruneTurn;

namespace {

RetentionKind to_kind(std::string_view name) {
    return model::stored_value(model::retention_kinds, name, "retention kind");
}

// An empty id means the store, or all names. Throws queue_not_found, workflow_not_found,
// workflow_queue.
QueueId retention_queue(Session& session, RetentionKind kind, const std::string& name) {
    if (name == all_names) return {};
    switch (model::scope_of(kind)) {
        case model::RetentionScope::workflow:
            return require_workflow(session, name).id;
        case model::RetentionScope::queue: {
            const QueueId id = require_queue(session, name);
            if (!session.query(sql::workflow_id, std::string_view(name)).next()) return id;
            throw Error(ErrorCode::workflow_queue, fmt::format(model::texts::no_archive, name));
        }
        case model::RetentionScope::store:
            break;
    }
    return {};
}

}  // namespace

void RowStore::set_retention(RetentionKind kind, const std::string& name, const Keep& keep) {
    write([&](Session& session, Timestamp) {
        const QueueId queue = retention_queue(session, kind, name);
        session.post(sql::delete_retention, queue, to_string(kind));
        const bool forever = !keep.age && !keep.count;
        if (forever && !queue) return;
        session.post(
            sql::insert_retention,
            queue,
            to_string(kind),
            // Takes precedence over the policy for all.
            optional_milliseconds(forever ? model::rules::longest_kept : keep.age),
            keep.count
        );
    });
}

void RowStore::clear_retention(RetentionKind kind, const std::string& name) {
    write([&](Session& session, Timestamp) {
        session.post(sql::delete_retention, retention_queue(session, kind, name), to_string(kind));
    });
}

std::vector<RetentionPolicy> RowStore::retention() {
    return read([](Session& session) {
        std::vector<RetentionPolicy> policies;
        using Row = sql::row::ListRetention;
        Rows rows = session.query(sql::list_retention);
        while (rows.next()) {
            RetentionPolicy& policy = policies.emplace_back();
            policy.kind = to_kind(rows.text(Row::kind));
            policy.name = rows.text(Row::name);
            if (!rows.null(Row::keep_ms)) policy.keep.age = Duration(rows.integer(Row::keep_ms));
            if (!rows.null(Row::keep_count)) policy.keep.count = rows.integer(Row::keep_count);
        }
        return policies;
    });
}

std::vector<PrunePart> RowStore::plan_prune() {
    struct Counted {
        PrunePart part;
        std::optional<std::int64_t> count;
    };
    const bool general =
        read([](Session& session) { return session.query(sql::has_general_retention).next(); });
    if (general) {
        write([](Session& session, Timestamp) {
            session.post(sql::drop_inherited_retention);
            session.post(sql::inherit_retention);
        });
    }
    const auto listed = read([](Session& session) {
        std::vector<Counted> all;
        using Row = sql::row::PrunePlan;
        Rows rows = session.query(sql::prune_plan);
        while (rows.next()) {
            Counted& one = all.emplace_back();
            one.part = {
                to_kind(rows.text(Row::kind)),
                rows.id<QueueId>(Row::queue_id),
                std::string(rows.text(Row::queue))};
            if (!rows.null(Row::keep_count)) one.count = rows.integer(Row::keep_count);
        }
        return all;
    });
    std::vector<PrunePart> parts;
    for (const auto& [part, count] : listed) {
        parts.push_back(part);
        if (!count) continue;
        const RetentionKind kind = part.kind;
        const QueueId queue = part.queue;
        const std::int64_t kept = *count;
        // Found in a read transaction, because it may have to skip many rows.
        const auto bound =
            read([&](Session& session) { return find_bound(session, kind, queue, kept); });
        write([&](Session& session, Timestamp) {
            std::optional<Timestamp> at;
            std::optional<std::int64_t> id;
            if (bound) {
                at = bound->at;
                id = bound->id;
            }
            session.post(sql::set_bound, queue, to_string(kind), at, id);
        });
    }
    return parts;
}

PrunedBatch RowStore::prune_batch(const PruneBatch& batch) {
    // Usually there is nothing to prune; the check takes no write lock.
    PruneBatch check = batch;
    check.dry_run = true;
    if (!batch.dry_run) check.max_rows = 1;
    const PrunedBatch seen = read([&](Session& session) {
        return PruneTransaction(session, current_time(session), check).prune();
    });
    if (batch.dry_run || seen.looked == 0) return seen;
    return write([&](Session& session, Timestamp now) {
        return PruneTransaction(session, now, batch).prune();
    });
}

// Like a claim: a refused caller takes no write lock.
PruneGrant RowStore::claim_prune(Duration interval, PruneTurn turn) {
    const auto wait = [&](Session& session, Timestamp now) {
        Rows rows = session.query(sql::prune_due);
        if (turn == PruneTurn::keep || !rows.next() || rows.time(0) <= now) return Duration::zero();
        return std::min<Duration>(interval, std::chrono::ceil<Duration>(rows.time(0) - now));
    };
    const Duration seen =
        read([&](Session& session) { return wait(session, current_time(session)); });
    if (seen > Duration::zero()) return {false, seen};
    return write([&](Session& session, Timestamp now) {
        const Duration left = wait(session, now);
        if (left > Duration::zero()) return PruneGrant{false, left};
        session.post(sql::claim_prune, now + interval);
        return PruneGrant{true, Duration::zero()};
    });
}

}  // namespace pawl::rowstore
