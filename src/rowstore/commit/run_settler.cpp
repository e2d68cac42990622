#include "rowstore/commit/run_settler.h"

#include "rowstore/commit/calls.h"
#include "rowstore/flow/flow_engine.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Attempt;
using seam::StepRecord;
using seam::Write;
using seam::WriteKind;
using seam::WriteStatus;

namespace {

std::optional<std::string_view> unless_empty(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return text;
}

bool is_sleep(const StepRecord& step) {
    return step.wake_at || step.wake_after_delay;
}

// The usual checkpoint: a new step with its output, and nothing that depends on the holder.
bool is_plain_result(const Write& write) {
    const StepRecord& step = *write.step;
    return step.status == StepStatus::success && step.output && !step.input && !step.error &&
           !is_sleep(step) && step.pause_message.empty() && step.pause_condition.empty() &&
           !write.publish && write.event.empty();
}

Timestamp end_of_wait(const Write& write, Timestamp now) {
    return write.until.value_or(now + write.delay);
}

}  // namespace

Held RunSettler::checkpoint(const Write& write) {
    if (is_plain_result(write) && record_result(write)) return Held::yes;
    const auto holder = find_holder(write.lease);
    if (!holder) return Held::no;
    const bool recorded = record(write, *write.step, holder->worker);
    if (recorded && write.publish) publisher_.publish(*write.publish);
    if (recorded) add_event(write, holder->worker);
    return Held::yes;
}

Held RunSettler::suspend(const Write& write) {
    const auto holder = find_holder(write.lease);
    if (!holder) return Held::no;
    const RunId run = run_of(write);
    const bool is_new_pause = publisher_.is_new_pause(write);
    const auto until =
        write.call ? record_call(write, holder->worker) : record_wait(write, holder->worker);
    const RunStatus status = until ? write.status : RunStatus::running;
    const std::string_view state = until && *until > now_ ? "waiting" : "ready";
    session_.post(
        sql::suspend_message,
        run,
        state,
        std::max(until.value_or(now_), now_),
        until ? write.attempts : 0,  // an answer is progress
        unless_empty(write.reason)
    );
    std::optional<Timestamp> paused_at;
    if (status == RunStatus::paused) paused_at = now_;
    session_.post(sql::suspend_run, run, to_string(status), paused_at, holder->worker, now_);
    add_event(write, holder->worker);
    if (is_new_pause && status == RunStatus::paused) publisher_.paused(write);
    scope_.wakeups.add(holder->workflow);
    return Held::yes;
}

Held RunSettler::finish(const Write& write) {
    const auto [message, delivery] = write.lease;
    // The first hand-out's worker is known to the run; the usual end needs no look at the message.
    WorkerId worker;
    if (delivery > 1 || !write.event.empty()) {
        const auto holder = find_holder(write.lease);
        if (!holder) return Held::no;
        worker = holder->worker;
    }
    if (session_.execute(sql::remove_message, message, delivery) == 0) return Held::no;
    const RunId run = run_of(write);
    if (write.status == RunStatus::success) {
        session_.post(
            sql::succeed_run, run, std::string_view(write.output), delivery, worker, now_
        );
        publisher_.ended(run);
        scope_.wakeups.ended.push_back(run);
        scope_.ended.push_back(run);
    } else {
        close(run, {write.status, write.error, delivery, worker});
    }
    add_event(write, worker);
    return Held::yes;
}

std::optional<RunSettler::Holder> RunSettler::find_holder(const Lease& lease) {
    Rows rows = session_.query(sql::holder, lease.message, lease.delivery);
    if (!rows.next()) return std::nullopt;
    return Holder{rows.id<WorkerId>(0), rows.id<QueueId>(1)};
}

bool RunSettler::record_result(const Write& write) {
    const StepRecord& step = *write.step;
    const auto inserted = session_.execute(
        sql::record_result,
        write.lease.message,
        std::string_view(step.id),
        step.position,
        step.attempt,
        write.lease.delivery,
        now_ - step.elapsed,
        now_,
        step.output
    );
    return inserted > 0;
}

bool RunSettler::record(const Write& write, const StepRecord& step, WorkerId worker) {
    std::optional<Timestamp> completed_at;
    if (step.status == StepStatus::success || step.status == StepStatus::error) completed_at = now_;
    std::optional<Timestamp> wake_at = step.wake_at;
    if (step.wake_after_delay) wake_at = end_of_wait(write, now_);
    const auto changed = session_.execute(
        sql::record_step,
        write.lease.message,
        std::string_view(step.id),
        step.position,
        to_string(step.status),
        step.attempt,
        write.lease.delivery,
        worker,
        now_ - step.elapsed,
        completed_at,
        wake_at,
        unless_empty(step.pause_message),
        unless_empty(step.pause_condition),
        step.input,
        step.output,
        step.error
    );
    return changed > 0;
}

// A resume that came before the pause: it is consumed here.
bool RunSettler::record_resumed(const Write& write, WorkerId worker) {
    StepRecord step = *write.step;
    {
        Rows rows = session_.query(sql::find_signal, run_of(write), std::string_view(step.id));
        if (!rows.next()) return false;
        step.output = rows.text(0);
    }
    session_.post(sql::forget_signal, run_of(write), std::string_view(step.id));
    step.status = StepStatus::success;
    step.error.reset();
    record(write, step, worker);
    return true;
}

std::optional<Timestamp> RunSettler::record_wait(const Write& write, WorkerId worker) {
    const bool pauses = write.status == RunStatus::paused;
    if (write.step) {
        if (pauses && !is_sleep(*write.step) && record_resumed(write, worker)) return std::nullopt;
        // Resumed while it was executed once more: it must not wait for what has come.
        if (!record(write, *write.step, worker)) return std::nullopt;
    }
    const Timestamp until = end_of_wait(write, now_);
    return pauses ? limit_pause(run_of(write), until) : until;
}

// The called run's end wakes this one. A step that has its result already does not wait again.
std::optional<Timestamp> RunSettler::record_call(const Write& write, WorkerId worker) {
    if (!record(write, *write.step, worker)) return std::nullopt;
    call(scope_, *write.call, {run_of(write), write.step->id, std::nullopt});
    return limit_pause(run_of(write), now_ + longest_call);
}

Timestamp RunSettler::limit_pause(RunId run, Timestamp until) {
    Rows rows = session_.query(sql::run_deadline, run);
    return rows.next() ? std::min(until, rows.time(0)) : until;
}

void RunSettler::fail(const RunState& run, const model::RunError& error) {
    if (run.is_flow) {
        FlowEngine(scope_, *find_flow_run(session_, run.id)).fail(error, error.type);
        return;
    }
    const Json json = model::to_json(error);
    session_.post(sql::delete_message, run.id);
    close(run.id, {RunStatus::error, json.text, run.delivery, {}, error.type});
    rowstore::add_event(session_, run, error.type, json.text, now_);
}

void RunSettler::cancel(const RunState& run, const std::string& reason) {
    if (run.is_flow) {
        FlowEngine(scope_, *find_flow_run(session_, run.id)).cancel(reason);
        return;
    }
    const Json json = model::to_json({"cancelled", reason, {}, 0});
    session_.post(sql::delete_message, run.id);
    close(run.id, {RunStatus::cancelled, json.text, run.delivery, {}});
    rowstore::add_event(session_, run, "cancelled", json.text, now_);
}

void RunSettler::close(RunId run, const End& end) {
    session_.post(
        sql::break_run, run, to_string(end.status), end.error, end.delivery, end.worker, now_
    );
    session_.post(sql::cancel_open_steps, run, now_);
    session_.post(sql::forget_signals, run);
    if (end.status == RunStatus::error) {
        insert_dead_letter_run(scope_, run, end.error);
        scope_.wakeups.ended.push_back(run);
    } else {
        scope_.wakeups.cancelled.push_back(run);
    }
    publisher_.ended(run, end.alert);
    scope_.ended.push_back(run);
}

void RunSettler::add_event(const Write& write, WorkerId worker) {
    if (write.event.empty()) return;
    const std::string_view data = write.event_data;
    session_.post(
        sql::add_event,
        run_of(write),
        std::string_view(write.event),
        data.empty() ? "{}" : data,
        worker,
        write.lease.delivery,
        now_
    );
}

std::optional<WriteStatus> RunSettler::explain(const Write& write, Attempt attempt) {
    const bool of_runs = write.kind == WriteKind::checkpoint || write.kind == WriteKind::suspend ||
                         write.kind == WriteKind::finish;
    Rows end = session_.query(sql::run_end, run_of(write));
    if (!end.next()) return of_runs ? std::optional(WriteStatus::lease_lost) : std::nullopt;
    if (to_run_status(end.text(0)) == RunStatus::cancelled) return WriteStatus::cancelled;
    if (of_runs && attempt == Attempt::repeated && was_written(write, end))
        return WriteStatus::done;
    return of_runs ? std::optional(WriteStatus::lease_lost) : std::nullopt;
}

// By an earlier commit of the same batch, whose answer was lost.
bool RunSettler::was_written(const Write& write, const Rows& end) {
    const bool message_is_gone = end.null(2);
    switch (write.kind) {
        case WriteKind::checkpoint:
            return session_
                .query(
                    sql::step_is_recorded,
                    write.lease.message,
                    std::string_view(write.step->id),
                    write.lease.delivery,
                    to_string(write.step->status)
                )
                .next();
        case WriteKind::suspend:
            return !message_is_gone && end.number(2) == write.lease.delivery &&
                   end.text(3) != "leased";
        case WriteKind::finish:
            return message_is_gone && end.number(1) == write.lease.delivery &&
                   to_run_status(end.text(0)) == write.status;
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::release:
        case WriteKind::hand_back:
        case WriteKind::fail:
        case WriteKind::bury:
        case WriteKind::extend:
        case WriteKind::complete_task:
        case WriteKind::fail_task:
        case WriteKind::delegate_task:
            break;
    }
    return false;
}

}  // namespace pawl::rowstore
