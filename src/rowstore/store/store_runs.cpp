#include "rowstore/claim/start_runs.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/run/run_readers.h"
#include "rowstore/run/run_search.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

std::optional<RunInfo> RowStore::find_run(RunId run) {
    return read([&](Session& session) { return read_run(session, run); });
}

std::optional<seam::RunEnd> RowStore::find_end(RunId run) {
    return read([&](Session& session) -> std::optional<seam::RunEnd> {
        Rows rows = session.query(sql::find_end, run);
        if (!rows.next()) return std::nullopt;
        using End = store::row::RunEnd;
        return seam::RunEnd{
            to_run_status(rows.text(End::status)),
            rows.flag(End::deleted),
            rows.optional_json(End::output)};
    });
}

std::vector<RunInfo> RowStore::list_runs(const RunFilter& filter, const RunPage& page) {
    return read([&](Session& session) {
        return read_runs(session, rowstore::list_runs(session, filter, page));
    });
}

RunCounts RowStore::count_runs(const RunFilter& filter, std::int64_t limit) {
    return read([&](Session& session) { return rowstore::count_runs(session, filter, limit); });
}

std::vector<StepInfo> RowStore::steps(RunId run) {
    return read([&](Session& session) { return read_steps(session, run); });
}

std::vector<seam::ReplayStep> RowStore::recorded_steps(RunId run) {
    return read([&](Session& session) {
        std::vector<seam::ReplayStep> steps;
        Rows rows = session.query(sql::recorded_steps, run);
        while (rows.next()) steps.push_back(read_recorded_step(rows));
        return steps;
    });
}

std::vector<RunEvent> RowStore::events(RunId run) {
    return read([&](Session& session) { return read_events(session, run); });
}

std::vector<RunInfo> RowStore::lineage(RunId run) {
    return read([&](Session& session) {
        std::vector<RunId> family;
        Rows rows = session.query(sql::lineage, run);
        while (rows.next()) family.push_back(rows.id<RunId>(0));
        return read_runs(session, family);
    });
}

}  // namespace pawl::rowstore
