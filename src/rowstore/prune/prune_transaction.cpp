#include "rowstore/prune/prune_transaction.h"

#include <algorithm>
#include <limits>

#include "model/enum_names.h"
#include "model/rules.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::PrunedBatch;
using seam::PrunePosition;

namespace {

constexpr auto highest_id = std::numeric_limits<std::int64_t>::max();

const store::Statement* bound_statement(RetentionKind kind) {
    switch (kind) {
        case RetentionKind::success:
            return &sql::success_bound;
        case RetentionKind::failed:
            return &sql::failed_bound;
        case RetentionKind::archive:
            return &sql::archive_bound;
        case RetentionKind::dead_letters:
            return &sql::dead_letters_bound;
        case RetentionKind::outbox:
            return &sql::outbox_bound;
        case RetentionKind::events:
        case RetentionKind::deleted:
        case RetentionKind::workers:
            break;
    }
    return nullptr;
}

const store::Statement& candidates_statement(RetentionKind kind) {
    switch (kind) {
        case RetentionKind::success:
        case RetentionKind::events:
            return sql::success_candidates;
        case RetentionKind::failed:
            return sql::failed_candidates;
        case RetentionKind::archive:
            return sql::archive_candidates;
        case RetentionKind::dead_letters:
            return sql::dead_letters_candidates;
        case RetentionKind::outbox:
            return sql::outbox_candidates;
        case RetentionKind::deleted:
            return sql::deleted_candidates;
        case RetentionKind::workers:
            break;
    }
    return sql::worker_candidates;
}

}  // namespace

std::optional<PrunePosition> find_bound(
    Session& session, RetentionKind kind, QueueId queue, std::int64_t keep_count
) {
    const store::Statement* statement = bound_statement(kind);
    if (statement == nullptr) return std::nullopt;
    using Row = store::row::PrunePosition;
    Rows rows = session.query(*statement, queue, keep_count);
    if (!rows.next()) return std::nullopt;
    return PrunePosition{rows.time(Row::at), rows.integer(Row::id)};
}

std::optional<PruneTransaction::Policy> PruneTransaction::find_policy() {
    using Row = sql::row::FindRetention;
    Rows rows = session_.query(sql::find_retention, batch_.queue, to_string(batch_.kind));
    if (!rows.next()) return std::nullopt;
    std::optional<PrunePosition> until;
    if (!rows.null(Row::keep_ms)) until = {now_ - Duration(rows.integer(Row::keep_ms)), highest_id};
    if (!rows.null(Row::bound_at) && (!until || rows.time(Row::bound_at) > until->at))
        until = {rows.time(Row::bound_at), rows.integer(Row::bound_id)};
    if (!until) return std::nullopt;  // by count, and there are fewer rows
    return Policy{rows.integer(Row::retention_id), *until, rows.optional_time(Row::done_at)};
}

std::vector<PrunePosition> PruneTransaction::candidates(
    RetentionKind kind, const PrunePosition& after, const PrunePosition& until
) {
    using Row = store::row::PrunePosition;
    std::vector<PrunePosition> found;
    const auto read = [&](Rows rows) {
        while (rows.next()) found.push_back({rows.time(Row::at), rows.integer(Row::id)});
    };
    const store::Statement& statement = candidates_statement(kind);
    if (kind == RetentionKind::workers) {
        read(
            session_.query(statement, now_, after.at, after.id, until.at, until.id, batch_.max_rows)
        );
    } else {
        read(session_.query(
            statement, batch_.queue, after.at, after.id, until.at, until.id, batch_.max_rows
        ));
    }
    if (kind != RetentionKind::events) return found;
    // Those of failed runs too, in one order.
    const auto failed = candidates(RetentionKind::failed, after, until);
    std::vector<PrunePosition> both;
    std::ranges::merge(found, failed, std::back_inserter(both));
    if (both.size() > static_cast<std::size_t>(batch_.max_rows))
        both.resize(static_cast<std::size_t>(batch_.max_rows));
    return both;
}

std::int64_t PruneTransaction::take_run(RunId run) {
    const bool soft_deleted = batch_.kind == RetentionKind::deleted;
    if (!session_.query(sql::run_is_prunable, run, soft_deleted).next()) return 0;
    if (batch_.dry_run) return 1;
    session_.post(sql::delete_run_steps, run);
    session_.post(sql::delete_run_tasks, run);
    session_.post(sql::delete_run_tags, run);
    session_.post(sql::delete_run_signals, run);
    session_.post(sql::delete_run_events, run);
    session_.post(sql::delete_run_calls, run);
    return session_.execute(sql::delete_run_row, run);
}

std::int64_t PruneTransaction::take_events(RunId run) {
    if (!batch_.dry_run) return session_.execute(sql::delete_run_events, run);
    Rows rows = session_.query(sql::count_run_events, run);
    return rows.next() ? rows.integer(0) : 0;
}

std::int64_t PruneTransaction::take(std::int64_t id) {
    switch (batch_.kind) {
        case RetentionKind::success:
        case RetentionKind::failed:
        case RetentionKind::deleted:
            return take_run(RunId(id));
        case RetentionKind::events:
            return take_events(RunId(id));
        case RetentionKind::archive:
        case RetentionKind::dead_letters:
            return batch_.dry_run ? 1 : session_.execute(sql::delete_archived, id);
        case RetentionKind::outbox:
            return batch_.dry_run ? 1 : session_.execute(sql::delete_outbox_event, id);
        case RetentionKind::workers:
            break;
    }
    return batch_.dry_run ? 1 : session_.execute(sql::delete_worker, id);
}

// The events of runs that were checked before are gone.
void PruneTransaction::remember(const Policy& policy, const PrunedBatch& pruned) {
    const bool through = pruned.looked < batch_.max_rows;
    // Other runs with the same time may still be committed.
    const Timestamp done =
        through ? policy.until.at : pruned.last.at - std::chrono::microseconds(1);
    session_.post(
        sql::set_done, policy.id, std::min<Timestamp>(done, now_ - model::rules::prune_recheck)
    );
}

PrunedBatch PruneTransaction::prune() {
    PrunedBatch pruned;
    const auto policy = find_policy();
    if (!policy) return pruned;
    const PrunePosition from{policy->done_at.value_or(Timestamp::min()), highest_id};
    const auto found = candidates(batch_.kind, batch_.after.value_or(from), policy->until);
    for (const PrunePosition& row : found) pruned.pruned += take(row.id);
    pruned.looked = static_cast<int>(found.size());
    if (!found.empty()) pruned.last = found.back();
    if (batch_.kind == RetentionKind::events && !batch_.dry_run) remember(*policy, pruned);
    return pruned;
}

}  // namespace pawl::rowstore
