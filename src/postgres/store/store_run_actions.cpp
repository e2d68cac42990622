// Operations of users on runs.
#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/batch/run_keys.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

void PostgresStore::resume(
    RunId run, const std::string& step, const Json& data, const ResumeOptions& options
) {
    Params params = run_and_text(run, step);
    params.text(data.text);
    call(options.early ? sql::resume_early : sql::resume, params, IfAnswerLost::doubt);
    hub_.notify_all();
}

seam::Rejection PostgresStore::reject_resume(
    const Lease& lease, const std::string& step, const std::string& message, Duration check_after
) {
    Params params;
    params.int8(lease.message.value()).int4(lease.delivery).text(step).text(message);
    params.int8(check_after.count());
    const Rows rows = call(sql::reject_resume, params, IfAnswerLost::repeat);  // safe to repeat
    static constexpr model::NameTable<seam::Rejection, 3> outcomes{{
        {seam::Rejection::done, "done"},
        {seam::Rejection::used, "used"},
        {seam::Rejection::lease_lost, "lease_lost"},
    }};
    return model::stored_value(outcomes, rows.text(0, 0), "outcome");
}

void PostgresStore::cancel(RunId run, const std::string& reason) {
    call(sql::cancel, run_and_text(run, reason), IfAnswerLost::doubt);
    signals_.notify_cancelled(run);
}

void PostgresStore::wake(RunId run) {
    call(sql::wake, one_run(run), IfAnswerLost::repeat);  // safe to repeat
    hub_.notify_all();
}

RunId PostgresStore::retry(RunId run) {
    const RunId made(call(sql::retry, one_run(run), IfAnswerLost::doubt).int8(0, 0));
    hub_.notify_all();
    return made;
}

RunId PostgresStore::fork(RunId run, const std::string& from_step) {
    const RunId made(call(sql::fork, run_and_text(run, from_step), IfAnswerLost::doubt).int8(0, 0));
    hub_.notify_all();
    return made;
}

void PostgresStore::delete_run(RunId run, const std::string& reason) {
    call(sql::delete_run, run_and_text(run, reason), IfAnswerLost::doubt);
    signals_.notify_cancelled(run);
}

}  // namespace pawl::postgres
