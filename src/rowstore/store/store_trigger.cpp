#include "rowstore/run/insert_run.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

std::vector<seam::Triggered> RowStore::trigger(std::span<const NewRun> runs) {
    MessageIds numbers;
    const auto announce = [&](Session& session) { numbers = prefetch_trigger(session, runs); };
    const auto insert = [&](WriteScope& scope) {
        scope.message_ids = numbers;
        return insert_runs(scope, runs);
    };
    return change(insert, announce);
}

std::vector<seam::Triggered> RowStore::trigger_in(
    Transaction transaction, std::span<const NewRun> runs
) {
    std::vector<seam::Triggered> triggered;
    run_in(transaction, "execute_in", [&](Session& session) {
        FlowPlans plans;
        WriteScope scope(session, current_time(session), plans);
        triggered = insert_runs(scope, runs);
    });
    return triggered;
}

}  // namespace pawl::rowstore
