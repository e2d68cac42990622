#include "sqlite/new_run.h"
#include "sqlite/sqlite_store.h"
#include "sqlite/user_session.h"

namespace pawl::sqlite {

std::vector<seam::Triggered> SqliteStore::trigger(std::span<const NewRun> runs) {
    return change([&](WriteScope& scope) { return insert_runs(scope, runs); });
}

// As enqueue_in: the watch on the file notices the user's commit, nobody is woken here.
std::vector<seam::Triggered> SqliteStore::trigger_in(
    Transaction transaction, std::span<const NewRun> runs
) {
    UserSession session(transaction, "execute_in");
    Savepoint savepoint(session);
    FlowPlans plans;
    WriteScope scope(session, current_time(session), plans);
    auto triggered = insert_runs(scope, runs);
    savepoint.release();
    return triggered;
}

}  // namespace pawl::sqlite
