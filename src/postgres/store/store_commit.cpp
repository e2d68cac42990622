#include <algorithm>

#include "postgres/batch/commit_batch.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr std::size_t few_writes = 4;

bool is_end(const Write& write) {
    return write.kind == WriteKind::finish;
}

// May end runs, or let tasks become ready.
bool goes_on(const Write& write) {
    return is_end(write) || write.kind == WriteKind::complete_task ||
           write.kind == WriteKind::fail_task;
}

bool wakes_others(const Write& write) {
    const bool now = write.delay == Duration::zero() && !write.until;
    return (write.kind == WriteKind::release && now) || (write.kind == WriteKind::suspend && now) ||
           write.kind == WriteKind::hand_back;
}

bool publishes(const Write& write) {
    return write.publish != nullptr;
}

bool is_suspension(const Write& write) {
    return write.kind == WriteKind::suspend;
}

}  // namespace

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
    if (std::ranges::any_of(writes, publishes)) wake_queue(seam::outbox_changed);
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

}  // namespace pawl::postgres
