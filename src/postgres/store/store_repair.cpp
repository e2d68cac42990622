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
    seam::LostPage page;
    page.looked = rows.int4(0, 0);
    if (page.looked > 0) page.last = {QueueId(rows.int8(0, 1)), RunId(rows.int8(0, 2))};
    const auto runs = rows.int8_array(0, 3);
    const auto workflows = rows.text_array(0, 4);
    const auto steps = rows.text_array(0, 5);
    const auto tasks = rows.int4_array(0, 6);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        page.lost.push_back(
            {RunId(runs[i]), std::string(workflows[i]), std::string(steps[i]), tasks[i]}
        );
    }
    return page;
}

// A repeated call is harmless, but does not return what an earlier one restored.
std::vector<LostWork> PostgresStore::repair() {
    const Rows rows = call(sql::repair_runs, {}, IfAnswerLost::repeat);
    std::vector<LostWork> restored;
    for (int i = 0; i < rows.size(); ++i) {
        restored.push_back(
            {RunId(rows.int8(i, 0)),
             rows.string(i, 1),
             rows.is_null(i, 2) ? std::string() : rows.string(i, 2),
             rows.is_null(i, 3) ? 0 : rows.int4(i, 3)}
        );
    }
    return restored;
}

}  // namespace pawl::postgres
