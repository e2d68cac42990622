#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "generated/sqlite_sql.h"
#include "sqlite/new_run.h"
#include "sqlite/run_settler.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

namespace {

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct StepState {
    StepStatus status = StepStatus::pending;
    bool sleeps = false;
    int position = 0;
};

std::optional<StepState> find_step(Session& session, RunId run, const std::string& step) {
    Rows rows = session.query(sql::step_state, run, std::string_view(step));
    if (!rows.next()) return std::nullopt;
    return StepState{to_step_status(rows.text(0)), rows.flag(1), rows.number(2)};
}

bool has_result(const StepState& step) {
    return step.status == StepStatus::success || step.status == StepStatus::error ||
           step.status == StepStatus::skipped;
}

[[noreturn]] void refuse_finished_step(RunId run, const std::string& step, std::string_view why) {
    throw Error(
        ErrorCode::step_finished,
        fmt::format("step '{}' of run {} {}: the first result counts", step, run.value(), why)
    );
}

void resume_paused(
    Session& session, const RunState& run, const std::string& step, const Json& data, Timestamp now
) {
    session.execute(
        sql::resume_step, run.id, std::string_view(step), std::string_view(data.text), now
    );
    session.execute(sql::wake_message, run.id, now);
    session.execute(sql::resume_run, run.id, now);
}

void resume_step(
    Session& session, const RunState& run, const std::string& step, const Json& data, Timestamp now
) {
    const auto found = find_step(session, run.id, step);
    if (found && has_result(*found))
        refuse_finished_step(run.id, step, fmt::format("is {}", to_string(found->status)));
    if (found && found->status == StepStatus::paused && found->sleeps) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("step '{}' of run {} is a sleep: it ends at its time", step, run.id.value())
        );
    }
    if (found && found->status == StepStatus::paused) {
        resume_paused(session, run, step, data, now);
        return;
    }
    const auto kept = session.execute(
        sql::keep_signal, run.id, std::string_view(step), std::string_view(data.text), now
    );
    if (kept == 0) refuse_finished_step(run.id, step, "has been resumed already");
}

RunId copy(
    Session& session, const RunState& run, const std::optional<ForkPoint>& fork, Timestamp now
) {
    return copy_run(session, {run.id, run.workflow, run.priority}, fork, now);
}

}  // namespace

void SqliteStore::resume(RunId run, const std::string& step, const Json& data) {
    const QueueId workflow = write([&](Session& session, Timestamp now) {
        const RunState state = require_live_run(session, run);
        resume_step(session, state, step, data, now);
        add_event(session, state, "resumed", fmt::format(R"({{"step":{}}})", quoted(step)), now);
        return state.workflow;
    });
    hub_.notify(workflow);
}

void SqliteStore::cancel(RunId run, const std::string& reason) {
    write([&](Session& session, Timestamp now) {
        Wakeups told_below;
        const RunState state = require_live_run(session, run);
        RunSettler(session, now, told_below).cancel(state, reason);
    });
    signals_.notify_cancelled(run);
}

void SqliteStore::wake(RunId run) {
    const QueueId workflow = write([&](Session& session, Timestamp now) {
        const RunState state = require_live_run(session, run);
        if (session.execute(sql::wake_message, run, now) > 0)
            add_event(session, state, "woken", "{}", now);
        return state.workflow;
    });
    hub_.notify(workflow);
}

RunId SqliteStore::retry(RunId run) {
    QueueId workflow;
    const RunId made = write([&](Session& session, Timestamp now) {
        const RunState state = require_run(session, run);
        if (state.status != RunStatus::error && state.status != RunStatus::cancelled) {
            throw Error(
                ErrorCode::run_not_failed,
                fmt::format(
                    "run {} is {}: only an ERROR or CANCELLED run can be retried; fork takes any",
                    run.value(),
                    to_string(state.status)
                )
            );
        }
        workflow = state.workflow;
        const RunId copied = copy(session, state, std::nullopt, now);
        add_event(
            session, state, "retried", fmt::format(R"({{"run_id":{}}})", copied.value()), now
        );
        return copied;
    });
    hub_.notify(workflow);
    return made;
}

RunId SqliteStore::fork(RunId run, const std::string& from_step) {
    QueueId workflow;
    const RunId made = write([&](Session& session, Timestamp now) {
        const RunState state = require_run(session, run);
        const auto step = find_step(session, run, from_step);
        if (!step) {
            throw Error(
                ErrorCode::step_not_found,
                fmt::format(
                    "run {} has no step '{}': fork from one of its steps", run.value(), from_step
                )
            );
        }
        workflow = state.workflow;
        const RunId copied = copy(session, state, ForkPoint{from_step, step->position}, now);
        add_event(
            session,
            state,
            "forked",
            fmt::format(R"({{"run_id":{},"step":{}}})", copied.value(), quoted(from_step)),
            now
        );
        return copied;
    });
    hub_.notify(workflow);
    return made;
}

void SqliteStore::delete_run(RunId run, const std::string& reason) {
    write([&](Session& session, Timestamp now) {
        const RunState state = require_run(session, run);
        if (!is_finished(state.status)) {
            Wakeups told_below;
            RunSettler(session, now, told_below).cancel(state, reason);
        }
        session.execute(sql::soft_delete_run, run, std::string_view(reason), now);
        add_event(
            session, state, "deleted", fmt::format(R"({{"reason":{}}})", quoted(reason)), now
        );
    });
    signals_.notify_cancelled(run);
}

}  // namespace pawl::sqlite
