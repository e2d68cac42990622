#include "generated/sqlite_sql.h"
#include "sqlite/claimed_runs.h"
#include "sqlite/run_list.h"
#include "sqlite/run_rows.h"
#include "sqlite/run_state.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

std::optional<RunInfo> SqliteStore::find_run(RunId run) {
    return read([&](Session& session) { return read_run(session, run); });
}

std::optional<seam::RunEnd> SqliteStore::find_end(RunId run) {
    return read([&](Session& session) -> std::optional<seam::RunEnd> {
        Rows rows = session.query(sql::find_end, run);
        if (!rows.next()) return std::nullopt;
        return seam::RunEnd{to_run_status(rows.text(0)), rows.flag(1), rows.optional_json(2)};
    });
}

std::vector<RunInfo> SqliteStore::list_runs(const RunFilter& filter, const RunPage& page) {
    return read([&](Session& session) {
        std::vector<RunInfo> runs;
        for (const RunId id : sqlite::list_runs(session, filter, page)) {
            if (auto run = read_run(session, id)) runs.push_back(std::move(*run));
        }
        return runs;
    });
}

RunCounts SqliteStore::count_runs(const RunFilter& filter, std::int64_t limit) {
    return read([&](Session& session) { return sqlite::count_runs(session, filter, limit); });
}

std::vector<StepInfo> SqliteStore::steps(RunId run) {
    return read([&](Session& session) { return read_steps(session, run); });
}

std::vector<seam::RecordedStep> SqliteStore::recorded_steps(RunId run) {
    return read([&](Session& session) {
        std::vector<seam::RecordedStep> steps;
        Rows rows = session.query(sql::recorded_steps, run);
        while (rows.next()) steps.push_back(read_recorded_step(rows));
        return steps;
    });
}

std::vector<RunEvent> SqliteStore::events(RunId run) {
    return read([&](Session& session) { return read_events(session, run); });
}

std::vector<RunInfo> SqliteStore::lineage(RunId run) {
    return read([&](Session& session) {
        std::vector<RunInfo> family;
        Rows rows = session.query(sql::lineage, run);
        while (rows.next()) {
            if (auto member = read_run(session, rows.id<RunId>(0)))
                family.push_back(std::move(*member));
        }
        return family;
    });
}

}  // namespace pawl::sqlite
