#include "sqlite/new_run.h"
#include "sqlite/sqlite_store.h"
#include "sqlite/user_session.h"

namespace pawl::sqlite {

std::vector<store::Triggered> SqliteStore::trigger(std::span<const NewRun> runs) {
    Wakeups wakeups;
    auto triggered = write([&](Session& session, Timestamp now) {
        return insert_runs(session, runs, now, wakeups);
    });
    wake(wakeups);
    return triggered;
}

// As enqueue_in: the watch on the file notices the user's commit, nobody is woken here.
std::vector<store::Triggered> SqliteStore::trigger_in(
    Transaction transaction, std::span<const NewRun> runs
) {
    Session session = user_session(transaction, "execute_in");
    require_schema(session);
    Savepoint savepoint(session);
    Wakeups not_yet;
    auto triggered = insert_runs(session, runs, current_time(session), not_yet);
    savepoint.release();
    return triggered;
}

}  // namespace pawl::sqlite
