#include <algorithm>

#include "postgres/batch/commit_batch.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr std::size_t few_writes = 4;

bool is_end(const Write* write) {
    return write->is<seam::Finish>();
}

// Whether it may end runs or make tasks ready.
bool may_start_work(const Write* write) {
    return write->is<seam::Finish, seam::CompleteTask, seam::FailTask>();
}

// Whether it makes a message visible now.
bool makes_ready(const Write* write) {
    if (write->is<seam::HandBack>()) return true;
    if (write->is<seam::Release>()) return write->as<seam::Release>().delay == Duration::zero();
    if (!write->is<seam::Suspend>()) return false;
    const auto& suspend = write->as<seam::Suspend>();
    return suspend.delay == Duration::zero() && !suspend.until;
}

bool publishes(const Write* write) {
    return write->is<seam::Checkpoint>() && write->as<seam::Checkpoint>().publish;
}

bool is_suspension(const Write* write) {
    return write->is<seam::Suspend>();
}

}  // namespace

std::vector<WriteOutcome> PostgresStore::commit(seam::Writes writes, Attempt attempt) {
    std::vector<WriteOutcome> outcomes(writes.size());
    if (writes.empty()) return outcomes;
    Progress progress;
    if (writes.size() <= few_writes && std::ranges::any_of(writes, may_start_work))
        progress.effects.wake = notifier_.next();
    try {
        const auto connection = checked(pool_, options().call_timeout);
        commit_range(*connection, writes, attempt, outcomes, progress);
    } catch (Error& error) {
        // A part of the batch is committed: a repetition must not take it for the work of another
        // holder, and it will not return the waiters to notify again.
        if (!progress.committed) throw;
        notify_others(writes, outcomes, progress.effects);
        error.mark_in_doubt();
        throw;
    }
    notify_others(writes, outcomes, progress.effects);
    return outcomes;
}

void PostgresStore::notify_others(
    seam::Writes writes, std::span<const WriteOutcome> outcomes, const CommitSideEffects& effects
) {
    if (std::ranges::any_of(writes, makes_ready)) {
        notify(std::nullopt);
    } else if (std::ranges::any_of(writes, is_suspension)) {
        hub_.notify_all();  // claimers in this process compute again when to claim
    }
    for (const QueueId queue : effects.queues) notify(queue, effects.wake);
    notify_waiters(writes, outcomes, effects);
    if (std::ranges::any_of(writes, publishes)) notify(seam::outbox_changed);
}

void PostgresStore::notify_waiters(
    seam::Writes writes, std::span<const WriteOutcome> outcomes, const CommitSideEffects& effects
) {
    if (signals_.watched()) {
        for (std::size_t i = 0; i < writes.size(); ++i) {
            if (is_end(writes[i]) && outcomes[i].status == WriteStatus::done)
                signals_.notify(RunId(writes[i]->lease.message.value()));
        }
        for (const RunId run : effects.ended) signals_.notify(run);
    }
    if (effects.wake == Wake::in_transaction) return;
    for (const RunId run : effects.awaited) notifier_.run_ended(run);
}

// A refused item does not affect the others: the batch is halved until the refused item is alone.
void PostgresStore::commit_range(
    Connection& connection,
    seam::Writes writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes,
    Progress& progress
) {
    constexpr int max_conflicts = 10;
    for (int conflicts = 0;; ++conflicts) {
        try {
            commit_batch(connection, writes, attempt, outcomes, progress.effects);
            progress.committed = true;
            return;
        } catch (const Refused& refused) {
            if (is_conflict(refused.error) && conflicts < max_conflicts) continue;
            Error error = to_error(refused.error, target_.schema);
            // A batch that took too long is tried in smaller parts; a single item is retried.
            if (is_cancelled(refused.error) && writes.size() == 1) error.mark_retryable();
            if (error.retryable() || error.code() == ErrorCode::not_installed ||
                error.code() == ErrorCode::pooler_detected)
                throw error;  // not caused by an item
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
