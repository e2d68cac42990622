#include "generated/postgres_sql.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

seam::LostPage PostgresStore::find_lost_work(const seam::LostPosition& after, int max_runs) {
    Params params;
    params.int8(after.workflow.value());
    if (after.run) {
        params.int8(after.run.value());
    } else {
        params.null();
    }
    params.int4(max_runs);
    const Rows rows = call(sql::find_lost_runs, params, IfAnswerLost::repeat);
    using Row = sql::row::FindLostRuns;
    seam::LostPage page;
    page.looked = rows.int4(0, Row::looked);
    if (page.looked > 0)
        page.last = {QueueId(rows.int8(0, Row::last_workflow)), RunId(rows.int8(0, Row::last_run))};
    const auto runs = rows.int8_array(0, Row::run_ids);
    const auto workflows = rows.text_array(0, Row::workflows);
    const auto steps = rows.text_array(0, Row::step_slugs);
    const auto tasks = rows.int4_array(0, Row::task_indexes);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        page.lost.push_back(
            {RunId(runs[i]), std::string(workflows[i]), std::string(steps[i]), tasks[i]}
        );
    }
    return page;
}

// A repeated call is safe, but does not return what an earlier one restored.
std::vector<LostWork> PostgresStore::repair() {
    const Rows rows = call(sql::repair_runs, {}, IfAnswerLost::repeat);
    using Row = sql::row::RepairRuns;
    std::vector<LostWork> restored;
    restored.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i) {
        restored.push_back(
            {RunId(rows.int8(i, Row::run_id)),
             rows.string(i, Row::workflow),
             rows.string(i, Row::step_slug),
             rows.is_null(i, Row::task_index) ? 0 : rows.int4(i, Row::task_index)}
        );
    }
    return restored;
}

}  // namespace pawl::postgres
