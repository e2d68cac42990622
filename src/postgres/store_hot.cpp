// The hot path: claim, commit, heartbeat.
#include <algorithm>
#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "model/names.h"
#include "postgres/claim_rows.h"
#include "postgres/postgres_store.h"
#include "postgres/settle.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr std::size_t few_writes = 4;
constexpr Duration shortest_heartbeat_timeout = 500ms;

bool is_end(const Write& write) {
    return write.kind == WriteKind::finish;
}

// May end runs, or let tasks become ready.
bool goes_on(const Write& write) {
    return is_end(write) || write.kind == WriteKind::complete_task ||
           write.kind == WriteKind::fail_task;
}

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

bool wakes_others(const Write& write) {
    const bool now = write.delay == Duration::zero() && !write.until;
    return (write.kind == WriteKind::release && now) || (write.kind == WriteKind::suspend && now) ||
           write.kind == WriteKind::hand_back;
}

// Claims of some steps have an index of their own, and no position in the flow's queue.
bool is_streaming(const seam::ClaimRequest& request) {
    return request.scan == seam::Scan::streaming && request.steps.empty();
}

bool publishes(const Write& write) {
    return write.publish != nullptr;
}

bool is_suspension(const Write& write) {
    return write.kind == WriteKind::suspend;
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

    if (request.work == seam::Work::runs) params.int8(seam::claim_step_bytes);
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

std::vector<WriteOutcome> PostgresStore::commit(std::span<const Write> writes, Attempt attempt) {
    std::vector<WriteOutcome> outcomes(writes.size());
    if (writes.empty()) return outcomes;
    Progress progress;
    if (writes.size() <= few_writes && std::ranges::any_of(writes, goes_on))
        progress.ends.wake = notifier_.next();
    try {
        const auto connection = checked(pool_, options().call_timeout);
        commit_range(*connection, writes, attempt, outcomes, progress);
    } catch (Error& error) {
        // A part is there: whoever repeats the batch must not take that for another's work, and the
        // repetition will not tell again whom to wake.
        if (!progress.committed) throw;
        tell_others(writes, outcomes, progress.ends);
        error.mark_in_doubt();
        throw;
    }
    tell_others(writes, outcomes, progress.ends);
    return outcomes;
}

void PostgresStore::tell_others(
    std::span<const Write> writes, std::span<const WriteOutcome> outcomes, const Ends& ends
) {
    if (std::ranges::any_of(writes, wakes_others)) {
        wake_queue({});
    } else if (std::ranges::any_of(writes, is_suspension)) {
        hub_.notify_all();  // who waits here shall know when these go on
    }
    for (const QueueId queue : ends.queues) wake_queue(queue, ends.wake);
    tell_of_ends(writes, outcomes, ends);
    if (std::ranges::any_of(writes, publishes)) wake_queue(base::outbox_changed);
}

void PostgresStore::tell_of_ends(
    std::span<const Write> writes, std::span<const WriteOutcome> outcomes, const Ends& ends
) {
    if (signals_.watched()) {
        for (std::size_t i = 0; i < writes.size(); ++i) {
            if (is_end(writes[i]) && outcomes[i].status == WriteStatus::done)
                signals_.notify(RunId(writes[i].lease.message.value()));
        }
        for (const RunId run : ends.ended) signals_.notify(run);
    }
    if (ends.wake == Wake::in_transaction) return;
    for (const RunId run : ends.awaited) notifier_.tell(run);
}

// One item never harms another: what the server refuses is halved until the guilty one stands
// alone.
void PostgresStore::commit_range(
    Connection& connection,
    std::span<const Write> writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes,
    Progress& progress
) {
    constexpr int max_conflicts = 10;
    for (int conflicts = 0;; ++conflicts) {
        try {
            settle(connection, writes, attempt, outcomes, progress.ends);
            progress.committed = true;
            return;
        } catch (const Refused& refused) {
            if (is_conflict(refused.error) && conflicts < max_conflicts) continue;
            Error error = to_error(refused.error, target_.schema);
            // What took too long is tried in smaller parts, and alone again and again.
            if (is_cancelled(refused.error) && writes.size() == 1) error.mark_retryable();
            if (error.retryable() || error.code() == ErrorCode::not_installed ||
                error.code() == ErrorCode::pooler_detected)
                throw error;  // no item's fault
            if (writes.size() == 1) {
                outcomes[0] = {WriteStatus::rejected, error.what(), error.code()};
                return;
            }
            break;
        } catch (const Error& error) {  // refused before it was sent: text that is not UTF-8
            if (error.code() != ErrorCode::invalid_argument) throw;
            if (writes.size() == 1) {
                outcomes[0] = {WriteStatus::rejected, error.what(), error.code()};
                return;
            }
            break;
        }
    }
    const std::size_t half = writes.size() / 2;
    commit_range(connection, writes.first(half), attempt, outcomes.first(half), progress);
    commit_range(connection, writes.subspan(half), attempt, outcomes.subspan(half), progress);
}

// An answer after the lease is of no use; another connection may give one in time.
Duration PostgresStore::heartbeat_timeout(std::span<const Write> extensions) const {
    Duration timeout = options().call_timeout;
    for (const Write& extension : extensions)
        timeout = std::min(timeout, std::max(extension.delay / 3, shortest_heartbeat_timeout));
    return timeout;
}

seam::HeartbeatResult PostgresStore::heartbeat(WorkerId worker, std::span<const Write> extensions) {
    seam::HeartbeatResult result;
    result.outcomes.resize(extensions.size());
    const auto connection = checked(heartbeat_pool_, heartbeat_timeout(extensions));
    return translated([&] {
        Ends none;
        if (!extensions.empty())
            settle(*connection, extensions, Attempt::first, result.outcomes, none);
        if (worker) beat(*connection, worker, extensions.empty(), result);
        return result;
    });
}

// That leases were extended counts, whatever holds up the worker's own row: somebody may have it
// locked.
void PostgresStore::beat(
    Connection& connection, WorkerId worker, bool must_answer, seam::HeartbeatResult& result
) {
    Params params;
    params.int8(worker.value());
    try {
        const Rows rows = connection.run(sql::heartbeat, params, IfAnswerLost::repeat);
        result.known = !rows.empty() && !rows.is_null(0, 0);
        if (!result.known) return;
        result.status =
            model::stored_value(model::worker_statuses, rows.text(0, 0), "worker status");
        result.beats = rows.int8(0, 1);
    } catch (const std::exception& error) {
        if (must_answer) throw;
        log().warning(fmt::format(
            "leases extended, but the heartbeat of worker {} failed: {}",
            worker.value(),
            error.what()
        ));
    }
}

}  // namespace pawl::postgres
