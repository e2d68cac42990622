#include "rowstore/commit/run_settler.h"

#include "model/event_kinds.h"
#include "model/rules.h"
#include "rowstore/commit/calls.h"
#include "rowstore/flow/flow_engine.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Attempt;
using seam::Checkpoint;
using seam::Finish;
using seam::StepWrite;
using seam::Suspend;
using seam::Write;
using seam::WriteKind;
using seam::WriteStatus;

namespace {

std::optional<std::string_view> unless_empty(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return text;
}

bool is_sleep(const StepWrite& step) {
    return step.wake_at || step.wake_after_delay;
}

// The usual checkpoint: a new step with its output that does not depend on the holder.
bool is_plain_result(const Write& write, const Checkpoint& checkpoint) {
    const StepWrite& step = *checkpoint.step;
    return step.status == StepStatus::success && step.output && !step.input && !step.error &&
           !is_sleep(step) && step.pause_message.empty() && step.pause_condition.empty() &&
           !checkpoint.publish && !write.event;
}

Timestamp end_of_wait(const Suspend& suspend, Timestamp now) {
    return suspend.until.value_or(now + suspend.delay);
}

}  // namespace

Fence RunSettler::checkpoint(const Write& write, const Checkpoint& checkpoint) {
    if (!scope_.fences.in_use() && is_plain_result(write, checkpoint) &&
        record_result(write.lease, *checkpoint.step))
        return Fence::held;
    const auto holder = find_holder(write.lease);
    if (!holder) return Fence::lost;
    const bool recorded = record(write.lease, *checkpoint.step, holder->worker);
    if (recorded && checkpoint.publish) publisher_.publish(*checkpoint.publish);
    if (recorded) add_event(write, holder->worker);
    return Fence::held;
}

Fence RunSettler::suspend(const Write& write, const Suspend& suspend) {
    const auto holder = find_holder(write.lease);
    if (!holder) return Fence::lost;
    const RunId run = run_of(write.lease);
    const bool is_new_pause = publisher_.is_new_pause(run, suspend);
    const auto until = suspend.call ? record_call(write.lease, suspend, holder->worker)
                                    : record_wait(write.lease, suspend, holder->worker);
    const RunStatus status = until ? suspend.status : RunStatus::running;
    const std::string_view state = until && *until > now_ ? "waiting" : "ready";
    session_.post(
        sql::suspend_message,
        run,
        state,
        std::max(until.value_or(now_), now_),
        until ? suspend.attempts : 0,  // an answer is progress
        unless_empty(suspend.last_error)
    );
    std::optional<Timestamp> paused_at;
    if (status == RunStatus::paused) paused_at = now_;
    session_.post(sql::suspend_run, run, to_string(status), paused_at, holder->worker, now_);
    scope_.fences.end(write.lease);
    add_event(write, holder->worker);
    if (is_new_pause && status == RunStatus::paused) publisher_.paused(run, suspend);
    scope_.wakeups.add(holder->workflow);
    return Fence::held;
}

Fence RunSettler::finish(const Write& write, const Finish& finish) {
    const auto worker = end_lease(write);
    if (!worker) return Fence::lost;
    const int delivery = write.lease.delivery;
    const RunId run = run_of(write.lease);
    if (finish.status == RunStatus::success) {
        session_.post(
            sql::succeed_run, run, std::string_view(finish.result), delivery, *worker, now_
        );
        publisher_.ended(run);
        scope_.wakeups.ended.push_back(run);
        scope_.ended.push_back(run);
    } else {
        close(run, {finish.status, finish.result, delivery, *worker});
    }
    add_event(write, *worker);
    return Fence::held;
}

// The run already has the worker of its first delivery, so the usual end does not read the message.
std::optional<WorkerId> RunSettler::end_lease(const Write& write) {
    const auto [message, delivery] = write.lease;
    WorkerId worker;
    if (delivery > 1 || write.event) {
        const auto holder = find_holder(write.lease);
        if (!holder) return std::nullopt;
        worker = holder->worker;
    }
    if (scope_.fences.in_use()) {
        if (scope_.fences.find(session_, write.lease) == nullptr) return std::nullopt;
        session_.post(sql::remove_message, message, delivery);
        scope_.fences.end(write.lease);
        return worker;
    }
    if (session_.execute(sql::remove_message, message, delivery) == 0) return std::nullopt;
    return worker;
}

std::optional<RunSettler::Holder> RunSettler::find_holder(const Lease& lease) {
    if (scope_.fences.in_use()) {
        const LeasedRow* const row = scope_.fences.find(session_, lease);
        if (row == nullptr) return std::nullopt;
        return Holder{row->worker, row->queue};
    }
    using Row = sql::row::Holder;
    Rows rows = session_.query(sql::holder, lease.message, lease.delivery);
    if (!rows.next()) return std::nullopt;
    return Holder{rows.id<WorkerId>(Row::worker_id), rows.id<QueueId>(Row::queue_id)};
}

bool RunSettler::record_result(const Lease& lease, const StepWrite& step) {
    const auto inserted = session_.execute(
        sql::record_result,
        lease.message,
        std::string_view(step.id),
        step.position,
        step.attempt,
        lease.delivery,
        now_ - step.elapsed_at(scope_.now_steady),
        now_,
        step.output
    );
    return inserted > 0;
}

template <class Send>
auto RunSettler::send_step(const Lease& lease, const StepWrite& step, WorkerId worker, Send send) {
    std::optional<Timestamp> completed_at;
    if (step.status == StepStatus::success || step.status == StepStatus::error) completed_at = now_;
    return send(
        lease.message,
        std::string_view(step.id),
        step.position,
        to_string(step.status),
        step.attempt,
        lease.delivery,
        worker,
        now_ - step.elapsed_at(scope_.now_steady),
        completed_at,
        step.wake_at,
        unless_empty(step.pause_message),
        unless_empty(step.pause_condition),
        step.input,
        step.output,
        step.error
    );
}

bool RunSettler::record(const Lease& lease, const StepWrite& step, WorkerId worker) {
    if (scope_.fences.in_use()) {
        const bool recorded = scope_.fences.record(session_, run_of(lease), step);
        send_step(lease, step, worker, [&](const auto&... values) {
            session_.post(sql::record_step, values...);
        });
        return recorded;
    }
    return send_step(lease, step, worker, [&](const auto&... values) {
        return session_.execute(sql::record_step, values...) > 0;
    });
}

bool RunSettler::record(const Lease& lease, const Suspend& suspend, WorkerId worker) {
    if (!suspend.step->wake_after_delay) return record(lease, *suspend.step, worker);
    StepWrite step = *suspend.step;
    step.wake_at = end_of_wait(suspend, now_);
    return record(lease, step, worker);
}

// A resume that arrived before the pause is consumed here.
bool RunSettler::record_resumed(const Lease& lease, const StepWrite& paused, WorkerId worker) {
    StepWrite step = paused;
    {
        Rows rows = session_.query(sql::find_signal, run_of(lease), std::string_view(step.id));
        if (!rows.next()) return false;
        step.output = rows.text(0);
    }
    session_.post(sql::forget_signal, run_of(lease), std::string_view(step.id));
    step.status = StepStatus::success;
    step.error.reset();
    record(lease, step, worker);
    return true;
}

std::optional<Timestamp> RunSettler::record_wait(
    const Lease& lease, const Suspend& suspend, WorkerId worker
) {
    const bool pauses = suspend.status == RunStatus::paused;
    if (const auto& step = suspend.step) {
        if (pauses && !is_sleep(*step) && record_resumed(lease, *step, worker)) return std::nullopt;
        // Resumed while it was executed again: it must not wait for an answer that has arrived.
        if (!record(lease, suspend, worker)) return std::nullopt;
    }
    const Timestamp until = end_of_wait(suspend, now_);
    return pauses ? limit_pause(run_of(lease), until) : until;
}

// The end of the called run wakes this one. A step that already has its result does not wait again.
std::optional<Timestamp> RunSettler::record_call(
    const Lease& lease, const Suspend& suspend, WorkerId worker
) {
    if (!record(lease, suspend, worker)) return std::nullopt;
    call(scope_, *suspend.call, {run_of(lease), suspend.step->id, std::nullopt});
    return limit_pause(run_of(lease), now_ + model::rules::until_called);
}

Timestamp RunSettler::limit_pause(RunId run, Timestamp until) {
    Rows rows = session_.query(sql::run_deadline, run);
    return rows.next() ? std::min(until, rows.time(0)) : until;
}

void RunSettler::fail(const RunState& run, model::EventKind why, const std::string& message) {
    const model::RunError error{std::string(to_string(why)), message, {}, 0};
    if (run.is_flow) {
        FlowEngine(scope_, *find_flow_run(session_, run.id)).fail(error, why);
        return;
    }
    const Json json = model::to_json(error);
    session_.post(sql::delete_message, run.id);
    scope_.fences.forget();
    close(run.id, {RunStatus::error, json.text, run.delivery, {}, error.type});
    rowstore::add_event(session_, run, why, json.text, now_);
}

void RunSettler::cancel(const RunState& run, const std::string& reason) {
    if (run.is_flow) {
        FlowEngine(scope_, *find_flow_run(session_, run.id)).cancel(reason);
        return;
    }
    const Json json =
        model::to_json({std::string(to_string(model::EventKind::cancelled)), reason, {}, 0});
    session_.post(sql::delete_message, run.id);
    scope_.fences.forget();
    close(run.id, {RunStatus::cancelled, json.text, run.delivery, {}});
    rowstore::add_event(session_, run, model::EventKind::cancelled, json.text, now_);
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
    if (!write.event) return;
    session_.post(
        sql::add_event,
        run_of(write.lease),
        std::string_view(write.event->kind),
        std::string_view(write.event->data),
        worker,
        write.lease.delivery,
        now_
    );
}

std::optional<WriteStatus> RunSettler::explain(const Write& write, Attempt attempt) {
    const bool of_runs = write.is<Checkpoint, Suspend, Finish>();
    Rows end = session_.query(sql::run_end, run_of(write.lease));
    if (!end.next()) return of_runs ? std::optional(WriteStatus::lease_lost) : std::nullopt;
    if (to_run_status(end.text(sql::row::RunEnd::status)) == RunStatus::cancelled)
        return WriteStatus::cancelled;
    if (of_runs && attempt == Attempt::repeated && was_written(write, end))
        return WriteStatus::done;
    return of_runs ? std::optional(WriteStatus::lease_lost) : std::nullopt;
}

// Whether an earlier commit of the same batch, whose answer was lost, has written it.
bool RunSettler::was_written(const Write& write, const Rows& end) {
    using Row = sql::row::RunEnd;
    const bool message_is_gone = end.null(Row::message_delivery);
    switch (write.kind()) {
        case WriteKind::checkpoint: {
            const StepWrite& step = *write.as<Checkpoint>().step;
            return session_
                .query(
                    sql::step_is_recorded,
                    write.lease.message,
                    std::string_view(step.id),
                    write.lease.delivery,
                    to_string(step.status)
                )
                .next();
        }
        case WriteKind::suspend:
            return !message_is_gone && end.number(Row::message_delivery) == write.lease.delivery &&
                   end.text(Row::message_state) != "leased";
        case WriteKind::finish:
            return message_is_gone && end.number(Row::run_delivery) == write.lease.delivery &&
                   to_run_status(end.text(Row::status)) == write.as<Finish>().status;
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
