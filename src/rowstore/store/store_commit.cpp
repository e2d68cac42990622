#include "rowstore/commit/settler.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::Attempt;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

// A lease that occurs twice in a batch gets the same outcome twice, except for checkpoints, of
// which a lease may have many, and for reports about tasks, of which the first counts.
bool was_done(seam::Writes writes, std::size_t index, const std::vector<WriteOutcome>& outcomes) {
    const Write& write = *writes[index];
    if (seam::task_of(write) != nullptr || write.is<seam::Checkpoint>()) return false;
    for (std::size_t i = 0; i < index; ++i) {
        if (writes[i]->kind() == write.kind() && writes[i]->lease == write.lease)
            return outcomes[i].status == WriteStatus::done;
    }
    return false;
}

}  // namespace

std::vector<WriteOutcome> RowStore::commit(seam::Writes writes, Attempt attempt) {
    std::vector<WriteOutcome> outcomes(writes.size());
    bool committed = false;
    try {
        commit_range(writes, {0, writes.size()}, attempt, outcomes, committed);
    } catch (Error& error) {
        // A part of the batch is committed: a repetition must not take it for the work of another
        // holder.
        if (committed) error.mark_in_doubt();
        throw;
    }
    return outcomes;
}

// The usual path is one transaction without a savepoint. If the database refuses a statement
// because of its data, the batch is rolled back and tried again in halves, each in a separate
// transaction, until the refused item is alone. This also works for triggers that roll back the
// transaction, and for constraints that are checked at the commit.
void RowStore::commit_range(
    seam::Writes writes,
    Range range,
    Attempt attempt,
    std::vector<WriteOutcome>& outcomes,
    bool& committed
) {
    if (range.begin == range.end) return;
    Fences fences;
    const auto announce = [&](Session& session) {
        fences = prefetch_fences(session, writes.subspan(range.begin, range.end - range.begin));
    };
    const auto settle = [&](WriteScope& scope) {
        scope.fences = std::move(fences);
        Settler settler(scope);
        for (std::size_t i = range.begin; i < range.end; ++i) {
            outcomes[i] = settler.settle(*writes[i], attempt);
            if (outcomes[i].status == WriteStatus::lease_lost && was_done(writes, i, outcomes))
                outcomes[i].status = WriteStatus::done;
        }
    };
    try {
        change(settle, announce);
        committed = true;
    } catch (const Error& error) {
        if (!concerns_one_statement(error)) throw;
        if (range.end - range.begin == 1) {
            const Write& write = *writes[range.begin];
            const bool refused_call =
                seam::called_run(write) != nullptr && error.code() == ErrorCode::workflow_not_found;
            outcomes[range.begin] =
                refused_call ? seam::refused_value(write)
                             : WriteOutcome{WriteStatus::rejected, error.what(), error.code()};
            return;
        }
        const std::size_t middle = range.begin + (range.end - range.begin) / 2;
        commit_range(writes, {range.begin, middle}, attempt, outcomes, committed);
        commit_range(writes, {middle, range.end}, attempt, outcomes, committed);
    }
}

}  // namespace pawl::rowstore
