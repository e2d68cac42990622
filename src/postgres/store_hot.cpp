// The hot path: claim, commit, heartbeat.
#include <algorithm>
#include <array>

#include "generated/postgres_sql.h"
#include "model/names.h"
#include "postgres/postgres_store.h"

namespace pawl::postgres {

using store::Attempt;
using store::Write;
using store::WriteKind;
using store::WriteOutcome;
using store::WriteStatus;

namespace {

enum ClaimColumn {
    col_message,
    col_queue,
    col_priority,
    col_delivery,
    col_strikes,
    col_attempts,
    col_enqueued_at,
    col_visible_at,
    col_last_error,
    col_payload,
    col_now,
    col_next_due,
    col_looked,
    col_last_queue,
    col_more
};

Message read_message(const Rows& rows, int row, WorkerId worker) {
    Message message;
    message.id = MessageId(rows.int8(row, col_message));
    message.priority = rows.int4(row, col_priority);
    message.delivery = rows.int4(row, col_delivery);
    message.strikes = rows.int4(row, col_strikes);
    message.attempts = rows.int4(row, col_attempts);
    message.state = MessageState::leased;
    message.enqueued_at = rows.time(row, col_enqueued_at);
    message.visible_at = rows.time(row, col_visible_at);
    message.worker = worker;
    message.last_error = rows.string(row, col_last_error);
    message.payload.text = rows.text(row, col_payload);
    return message;
}

store::Claim read_claim(const Rows& rows, WorkerId worker) {
    store::Claim claim;
    const int tail = rows.size() - 1;
    std::vector<int> order(static_cast<std::size_t>(tail));
    for (int row = 0; row < tail; ++row) order[static_cast<std::size_t>(row)] = row;
    std::ranges::sort(order, [&](int a, int b) {
        const int left = rows.int4(a, col_priority);
        const int right = rows.int4(b, col_priority);
        return left != right ? left > right : rows.int8(a, col_message) < rows.int8(b, col_message);
    });
    claim.messages.reserve(order.size());
    claim.queues.reserve(order.size());
    for (const int row : order) {
        claim.messages.push_back(read_message(rows, row, worker));
        claim.queues.emplace_back(rows.int8(row, col_queue));
    }
    claim.now = rows.time(tail, col_now);
    if (!rows.is_null(tail, col_next_due)) claim.next_due = rows.time(tail, col_next_due);
    claim.after = QueueId(rows.id(tail, col_last_queue));
    claim.more = rows.boolean(tail, col_more);
    return claim;
}

struct SettleCall {
    WriteKind kind;
    const store::Statement* statement;
};
constexpr std::array settle_calls{
    SettleCall{WriteKind::archive, &sql::archive},
    SettleCall{WriteKind::remove, &sql::remove},
    SettleCall{WriteKind::release, &sql::release},
    SettleCall{WriteKind::hand_back, &sql::hand_back},
    SettleCall{WriteKind::fail, &sql::fail},
    SettleCall{WriteKind::bury, &sql::bury},
    SettleCall{WriteKind::extend, &sql::extend},
};

// One kind's writes of a batch, as aligned arrays, and where each came from.
struct Group {
    std::vector<std::size_t> places;
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::string_view> reasons;
};

Params settle_params(WriteKind kind, const Group& group, Attempt attempt) {
    Params params;
    params.int8_array(group.messages).int4_array(group.deliveries);
    if (kind == WriteKind::extend) return std::move(params.int8_array(group.delays_ms));
    params.boolean(attempt == Attempt::repeated);
    if (kind == WriteKind::release || kind == WriteKind::fail) params.int8_array(group.delays_ms);
    if (kind == WriteKind::fail || kind == WriteKind::bury) params.text_array(group.reasons);
    return params;
}

WriteStatus to_status(std::string_view outcome) {
    if (outcome == "done") return WriteStatus::done;
    return outcome == "busy" ? WriteStatus::busy : WriteStatus::lease_lost;
}

// One pipeline for the whole batch.
void settle(
    Connection& connection,
    std::span<const Write> writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes
) {
    std::array<Group, settle_calls.size()> groups;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        Group& group = groups[static_cast<std::size_t>(writes[i].kind)];
        group.places.push_back(i);
        group.messages.push_back(writes[i].lease.message.value());
        group.deliveries.push_back(writes[i].lease.delivery);
        group.delays_ms.push_back(writes[i].delay.count());
        group.reasons.push_back(writes[i].reason);
    }
    std::vector<Params> params;
    std::vector<Call> calls;
    std::vector<const Group*> called;
    params.reserve(groups.size());
    for (const auto& [kind, statement] : settle_calls) {
        const Group& group = groups[static_cast<std::size_t>(kind)];
        if (group.places.empty()) continue;
        params.push_back(settle_params(kind, group, attempt));
        calls.push_back({*statement, params.back()});
        called.push_back(&group);
    }
    const auto answers = connection.run(calls, Access::write);
    for (std::size_t call = 0; call < called.size(); ++call) {
        const auto words = answers[call].text_array(0, 0);
        for (std::size_t i = 0; i < words.size(); ++i)
            outcomes[called[call]->places[i]].status = to_status(words[i]);
    }
}

bool wakes_others(const Write& write) {
    return (write.kind == WriteKind::release && write.delay == Duration::zero()) ||
           write.kind == WriteKind::hand_back;
}

}  // namespace

store::Claim PostgresStore::claim(const store::ClaimRequest& request) {
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

    // A claim whose answer is lost costs its messages one lease time, no more: ask again at will.
    const Rows rows = call(sql::claim, params, Access::read);
    store::Claim claim = read_claim(rows, request.worker);
    if (request.scan == store::Scan::streaming) {
        if (rows.boolean(rows.size() - 1, col_looked)) {
            if (!last.swept_at || claim.now - *last.swept_at >= 10s) last.swept_at = claim.now;
            last.looked_at = claim.now;
        }
        remember(request, claim, last);
    }
    return claim;
}

PostgresStore::ClaimPosition PostgresStore::position(const store::ClaimRequest& request) {
    if (request.scan == store::Scan::exact) return {};
    const std::lock_guard lock(positions_mutex_);
    return positions_[request.queues];
}

void PostgresStore::remember(
    const store::ClaimRequest& request, const store::Claim& claim, ClaimPosition position
) {
    // A second is how long rows that commit late, behind the floor, may have to wait.
    const bool old = position.floor_priority && claim.now - position.floor_since >= 1s;
    if (claim.messages.empty() || request.queues.size() != 1 || old) {
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
    {
        const auto connection = checked(pool_);
        commit_range(*connection, writes, attempt, outcomes);
    }
    if (std::ranges::any_of(writes, wakes_others)) wake({});
    return outcomes;
}

// One item never harms another: what the server refuses is halved until the guilty one stands
// alone.
void PostgresStore::commit_range(
    Connection& connection,
    std::span<const Write> writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes
) {
    constexpr int max_conflicts = 10;
    for (int conflicts = 0;; ++conflicts) {
        try {
            return settle(connection, writes, attempt, outcomes);
        } catch (const Refused& refused) {
            if (is_conflict(refused.error) && conflicts < max_conflicts) continue;
            const Error error = to_error(refused.error, target_.schema);
            if (error.retryable() || error.code() == ErrorCode::not_installed ||
                error.code() == ErrorCode::pooler_detected)
                throw error;  // no item's fault
            if (writes.size() == 1) {
                outcomes[0] = {WriteStatus::rejected, error.what()};
                return;
            }
            break;
        }
    }
    const std::size_t half = writes.size() / 2;
    commit_range(connection, writes.first(half), attempt, outcomes.first(half));
    commit_range(connection, writes.subspan(half), attempt, outcomes.subspan(half));
}

store::HeartbeatResult PostgresStore::heartbeat(
    WorkerId worker, std::span<const Write> extensions
) {
    store::HeartbeatResult result;
    result.outcomes.resize(extensions.size());
    const auto connection = checked(heartbeat_pool_);
    return translated([&] {
        if (!extensions.empty()) settle(*connection, extensions, Attempt::first, result.outcomes);
        if (!worker) return result;
        Params params;
        params.int8(worker.value());
        const Rows rows = connection->run(sql::heartbeat, params, Access::read);
        const auto status =
            rows.empty() ? std::nullopt : model::value_of(model::worker_statuses, rows.text(0, 0));
        result.status = status.value_or(WorkerStatus::stopped);  // purged: it shall stop
        return result;
    });
}

}  // namespace pawl::postgres
