// The holder of a run cannot decode an answer: the step is paused again.
#include <nlohmann/json.hpp>

#include "model/event_kinds.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Rejection;
using seam::Suspend;

namespace {

Suspend pause_again(const std::string& step, const std::string& message) {
    Suspend suspend;
    suspend.status = RunStatus::paused;
    suspend.step.emplace();
    suspend.step->id = step;
    suspend.step->pause_message = message;
    return suspend;
}

std::string rejection_data(
    const std::string& step, const std::string& message, std::string_view answer
) {
    const nlohmann::ordered_json json{{"step", step}, {"message", message}};
    std::string data = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    data.pop_back();
    return data.append(",\"data\":").append(answer).append("}");
}

}  // namespace

Rejection RunSettler::reject(
    const Lease& lease, const std::string& step, const std::string& message, Duration check_after
) {
    const RunId run(lease.message.value());
    WorkerId worker;
    std::string answer;
    {
        using Row = sql::row::Answer;
        Rows rows = session_.query(sql::answer, run, lease.delivery, std::string_view(step));
        if (!rows.next()) return Rejection::lease_lost;
        const bool is_leased = rows.text(Row::state) == "leased";
        if (rows.null(Row::step_status))  // no such step
            return is_leased ? Rejection::used : Rejection::lease_lost;
        const StepStatus status = to_step_status(rows.text(Row::step_status));
        const bool paused_by_us =
            status == StepStatus::paused && rows.number(Row::step_delivery) == lease.delivery;
        if (!is_leased)  // repeated, or the lease is lost
            return paused_by_us ? Rejection::done : Rejection::lease_lost;
        // A resume sets attempts to 0, so a failed attempt after the answer means that it was used.
        const bool is_answer = status == StepStatus::success && rows.flag(Row::is_answerable);
        if (!is_answer || rows.number(Row::attempts) > 0 || rows.flag(Row::is_used))
            return Rejection::used;
        worker = rows.id<WorkerId>(Row::worker_id);
        answer = rows.text(Row::output);
    }
    const Suspend pause = pause_again(step, message);
    const bool publishes = publisher_.is_new_pause(run, pause);
    const Timestamp until = std::max(limit_pause(run, now_ + check_after), now_);
    session_.post(
        sql::pause_step_again,
        run,
        std::string_view(step),
        lease.delivery,
        worker,
        std::string_view(message)
    );
    session_.post(sql::suspend_message, run, std::string_view("waiting"), until, 0, std::nullopt);
    session_.post(
        sql::suspend_run, run, to_string(RunStatus::paused), std::optional(now_), worker, now_
    );
    const auto state = find_run_state(session_, run);
    if (state)
        rowstore::add_event(
            session_,
            *state,
            model::EventKind::resume_rejected,
            rejection_data(step, message, answer),
            now_
        );
    if (publishes) publisher_.paused(run, pause);
    return Rejection::done;
}

}  // namespace pawl::rowstore
