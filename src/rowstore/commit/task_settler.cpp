#include "rowstore/commit/task_settler.h"

#include <fmt/format.h>
#include <utility>

#include "model/enum_names.h"
#include "model/event_data.h"
#include "model/flow.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/commit/calls.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using model::EventKind;
using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteStatus;

namespace {

TaskStatus to_task_status(std::string_view name) {
    return model::stored_value(model::task_statuses, name, "task status");
}

std::string join_outputs(Session& session, RunId run, int step) {
    std::string joined = "[";
    Rows rows = session.query(sql::task_outputs, run, step);
    while (rows.next()) {
        if (joined.size() > 1) joined += ',';
        joined += rows.text(0);
    }
    joined += ']';
    return joined;
}

void count_tasks_down(WriteScope& scope, RunId run, int step, int done) {
    const auto found = find_flow_run(scope.session, run);
    if (!found || is_finished(found->status)) return;
    const std::string_view slug = scope.flows.get(scope.session, found->workflow).slug(step);
    int remaining = 0;
    {
        Rows rows = scope.session.query(sql::flow_step, run, slug);
        if (rows.next()) remaining = rows.number(sql::row::FlowStep::remaining_tasks);
    }
    if (remaining > done) {
        scope.session.post(sql::set_remaining_tasks, run, slug, remaining - done);
    } else {
        FlowEngine(scope, *found).succeed_step(step, join_outputs(scope.session, run, step));
    }
}

}  // namespace

void settle_maps(WriteScope& scope) {
    const auto progress = std::exchange(scope.map_progress, {});
    for (const auto& [step, done] : progress)
        count_tasks_down(scope, step.first, step.second, done);
}

void settle_maps(WriteScope& scope, RunId run) {
    auto next = scope.map_progress.lower_bound({run, 0});
    while (next != scope.map_progress.end() && next->first.first == run) {
        const auto [step, done] = *next;
        next = scope.map_progress.erase(next);
        count_tasks_down(scope, run, step.second, done);
    }
}

Fence TaskSettler::complete(const Lease& lease, const seam::CompleteTask& complete) {
    const auto key = find_held(lease);
    if (!key || (!is_map(*key) && !is_still_held(*key, lease))) return Fence::lost;
    scope_.fences.end(lease);
    succeed(*key, complete.output);
    return Fence::held;
}

Fence TaskSettler::fail(const Lease& lease, const seam::FailTask& failed) {
    const auto key = find_held(lease);
    if (!key || !is_still_held(*key, lease)) return Fence::lost;
    scope_.fences.end(lease);
    fail(*key, Failure{failed.error, failed.permanent, failed.retry_delay});
    return Fence::held;
}

Fence TaskSettler::delegate(const Lease& lease, const seam::DelegateTask& delegate) {
    const auto key = find_held(lease);
    if (!key) return Fence::lost;
    scope_.fences.end(lease);
    const std::string& slug = scope_.flows.get(session_, key->workflow).slug(key->step);
    call(scope_, *delegate.call, {key->run, slug, key->task});
    session_.post(sql::put_off_message, key->message, scope_.now + model::rules::until_called);
    return Fence::held;
}

std::optional<TaskKey> TaskSettler::find_held(const Lease& lease) {
    if (scope_.fences.in_use()) {
        const LeasedRow* const row = scope_.fences.find(session_, lease);
        if (row == nullptr || !row->run) return std::nullopt;
        return TaskKey{row->queue, row->run, row->step, row->task, lease.message};
    }
    using Row = store::row::TaskKey;
    Rows rows = session_.query(sql::held_task, lease.message, lease.delivery);
    if (!rows.next()) return std::nullopt;
    return TaskKey{
        rows.id<QueueId>(Row::queue_id),
        rows.id<RunId>(Row::run_id),
        rows.number(Row::step_index),
        rows.number(Row::task_index),
        lease.message};
}

// The effects of earlier reports of the batch come first: they may end the run, and this task with
// it.
bool TaskSettler::is_still_held(const TaskKey& key, const Lease& lease) {
    const auto next = scope_.map_progress.lower_bound({key.run, 0});
    if (next == scope_.map_progress.end() || next->first.first != key.run) return true;
    settle_maps(scope_, key.run);
    return find_held(lease).has_value();
}

bool TaskSettler::is_map(const TaskKey& key) {
    return scope_.flows.get(session_, key.workflow).step(key.step).type == StepType::map;
}

std::optional<WriteStatus> TaskSettler::explain(const Write& write, Attempt attempt) {
    const TaskRef* const task = seam::task_of(write);
    if (task == nullptr) return std::nullopt;
    const auto found = find(*task);
    if (!found) return WriteStatus::cancelled;  // deleted with its flow
    if (attempt == Attempt::repeated && was_written(write, *found)) return WriteStatus::done;
    const bool over = found->status == TaskStatus::cancelled ||
                      found->run_status == RunStatus::error ||
                      found->run_status == RunStatus::cancelled;
    return over ? WriteStatus::cancelled : WriteStatus::lease_lost;
}

// Whether an earlier commit of the same batch, whose answer was lost, has written it.
bool TaskSettler::was_written(const Write& write, const Found& found) {
    if (found.delivery != write.lease.delivery) return false;
    switch (write.kind()) {
        case WriteKind::complete_task:
            return found.status == TaskStatus::success;
        case WriteKind::fail_task:
            return found.status == TaskStatus::error || found.status == TaskStatus::queued;
        case WriteKind::delegate_task:
            return found.status != TaskStatus::cancelled && found.status != TaskStatus::skipped;
        case WriteKind::release:
        case WriteKind::hand_back:
            return found.status == TaskStatus::queued;
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::fail:
        case WriteKind::bury:
        case WriteKind::extend:
        case WriteKind::checkpoint:
        case WriteKind::suspend:
        case WriteKind::finish:
            break;
    }
    return false;
}

std::optional<TaskSettler::Found> TaskSettler::find(const TaskRef& ref) {
    const auto run = find_flow_run(session_, ref.run);
    if (!run) return std::nullopt;
    const auto step = scope_.flows.get(session_, run->workflow).index_of(ref.step);
    if (!step) return std::nullopt;
    using Row = sql::row::FindTask;
    Rows rows = session_.query(sql::find_task, ref.run, *step, ref.task_index);
    if (!rows.next()) return std::nullopt;
    Found found;
    found.key = {
        run->workflow, ref.run, *step, ref.task_index, rows.id<MessageId>(Row::message_id)};
    found.status = to_task_status(rows.text(Row::status));
    found.attempts = rows.number(Row::attempts);
    found.delivery = rows.number(Row::delivery);
    found.run_status = run->status;
    return found;
}

TaskOutcome TaskSettler::judge(const Found& found, int delivery) {
    switch (found.status) {
        case TaskStatus::success:
        case TaskStatus::error:
        case TaskStatus::skipped:
            return TaskOutcome::finished;
        case TaskStatus::cancelled:
            return TaskOutcome::cancelled;
        case TaskStatus::queued:
            return TaskOutcome::not_running;
        case TaskStatus::running:
            break;
    }
    return delivery == 0 || delivery == found.delivery ? TaskOutcome::done
                                                       : TaskOutcome::lease_lost;
}

TaskOutcome TaskSettler::complete(const TaskRef& ref, std::string_view output, int delivery) {
    const auto found = find(ref);
    if (!found) return TaskOutcome::unknown_task;
    const TaskOutcome outcome = judge(*found, delivery);
    if (outcome != TaskOutcome::done) return outcome;
    cancel_called(scope_, ref.run, {ref.step, ref.task_index});
    succeed(found->key, output);
    return outcome;
}

TaskOutcome TaskSettler::fail(const TaskRef& ref, const std::string& error, int delivery) {
    const auto found = find(ref);
    if (!found) return TaskOutcome::unknown_task;
    const TaskOutcome outcome = judge(*found, delivery);
    if (outcome != TaskOutcome::done) return outcome;
    cancel_called(scope_, ref.run, {ref.step, ref.task_index});
    fail(found->key, Failure{error});
    return outcome;
}

std::optional<int> TaskSettler::find_starved_map(const TaskKey& key, std::string_view output) {
    const FlowPlan& plan = scope_.flows.get(session_, key.workflow);
    for (const int map : find_starved_maps(plan, key.step, output)) {
        Rows rows = session_.query(sql::flow_step, key.run, std::string_view(plan.slug(map)));
        if (rows.next() &&
            to_step_status(rows.text(sql::row::FlowStep::status)) == StepStatus::pending)
            return map;
    }
    return std::nullopt;
}

// The task and its step fail and keep the output, so that a retry of the run executes them again.
void TaskSettler::reject_output(const TaskKey& key, std::string_view output, int map) {
    settle_maps(scope_, key.run);
    FlowEngine engine(scope_, *find_flow_run(session_, key.run));
    const std::string& slug = engine.plan().slug(key.step);
    const std::string message =
        fmt::format(model::texts::step_must_return_array, slug, engine.plan().slug(map));
    const std::string error = "not_an_array: " + message;
    session_.post(sql::fail_task, key.run, key.step, key.task, std::string_view(error), scope_.now);
    engine.reject_output(
        key.step, output, {"not_an_array", message, slug, read_start(key).attempts}
    );
}

void TaskSettler::succeed(const TaskKey& key, std::string_view output) {
    session_.post(sql::delete_message, key.message);
    session_.post(sql::succeed_task, key.run, key.step, key.task, output, scope_.now);
    if (const auto map = find_starved_map(key, output)) return reject_output(key, output, *map);
    const FlowPlan& plan = scope_.flows.get(session_, key.workflow);
    if (model::is_audited(plan.audit, EventKind::task_succeeded))
        add_event(plan, key, read_start(key), {EventKind::task_succeeded, std::nullopt});
    if (is_map(key)) {
        ++scope_.map_progress[{key.run, key.step}];
    } else {
        settle_maps(scope_, key.run);
        FlowEngine(scope_, *find_flow_run(session_, key.run)).succeed_step(key.step, output);
    }
}

TaskSettler::Start TaskSettler::read_start(const TaskKey& key) {
    using Row = sql::row::FindTask;
    Rows rows = session_.query(sql::find_task, key.run, key.step, key.task);
    if (!rows.next()) return {};
    return {
        rows.number(Row::attempts), rows.number(Row::delivery), rows.id<WorkerId>(Row::worker_id)};
}

void TaskSettler::fail(const TaskKey& key, const Failure& failure) {
    settle_maps(scope_, key.run);
    FlowEngine engine(scope_, *find_flow_run(session_, key.run));
    const Start start = read_start(key);
    const int most = engine.plan().max_attempts(key.step, engine.run().max_attempts);
    if (!failure.permanent && start.attempts < most) {
        retry(engine, key, start, failure);
    } else {
        exhaust(engine, key, start, failure.message);
    }
}

void TaskSettler::retry(
    const FlowEngine& engine, const TaskKey& key, const Start& start, const Failure& why
) {
    const Duration delay = why.retry_delay.value_or(
        model::flow_retry_delay(engine.plan().base_delay(key.step), start.attempts)
    );
    session_.post(sql::requeue_task, key.run, key.step, key.task, why.message);
    session_.post(
        sql::requeue_message,
        key.message,
        std::string_view(delay > Duration::zero() ? "waiting" : "ready"),
        scope_.now + delay,
        why.message
    );
    scope_.wakeups.add(key.workflow);
    add_event(engine.plan(), key, start, {EventKind::task_retry, why.message});
}

void TaskSettler::exhaust(
    FlowEngine& engine, const TaskKey& key, const Start& start, std::string_view message
) {
    const FlowPlan& plan = engine.plan();
    session_.post(sql::delete_message, key.message);
    session_.post(sql::fail_task, key.run, key.step, key.task, message, scope_.now);
    if (plan.step(key.step).options.when_exhausted != WhenExhausted::fail)
        add_event(plan, key, start, {EventKind::step_skipped, message});
    engine.exhaust_step(
        key.step, {"task_failed", std::string(message), plan.slug(key.step), start.attempts}
    );
}

void TaskSettler::add_event(
    const FlowPlan& plan, const TaskKey& key, const Start& start, const Event& event
) {
    if (!model::is_audited(plan.audit, event.kind)) return;
    const std::string text = model::event_data(
        {.step = plan.slug(key.step),
         .task_index = key.task,
         .attempt = start.attempts,
         .error = event.message}
    );
    session_.post(
        sql::add_event,
        key.run,
        to_string(event.kind),
        std::string_view(text),
        start.worker,
        start.delivery,
        scope_.now
    );
}

void TaskSettler::fail_exhausted(const TaskKey& key, std::string_view why) {
    FlowEngine engine(scope_, *find_flow_run(session_, key.run));
    exhaust(engine, key, read_start(key), why);
}

void TaskSettler::end_call(const TaskRef& ref, const CallResult& result) {
    settle_maps(scope_, ref.run);
    const auto found = find(ref);
    if (!found || found->status != TaskStatus::running) return;
    if (result.succeeded) {
        succeed(found->key, result.output);
    } else {
        fail(found->key, Failure{result.message});
    }
}

}  // namespace pawl::rowstore
