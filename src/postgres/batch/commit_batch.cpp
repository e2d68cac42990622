#include "postgres/batch/commit_batch.h"

#include <array>

#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/batch/run_params.h"
#include "postgres/batch/task_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

// Writes of one kind are sent to one function, except those that also name a task, a run to be
// created, or the queue of the message.
enum class Form { plain, of_task, with_call, with_queue };

struct BatchCall {
    WriteKind kind;
    const store::Statement* statement;
    Form form = Form::plain;
};
// In the order in which they are sent: steps of a run are recorded before its delivery ends.
constexpr std::array batch_calls{
    BatchCall{WriteKind::checkpoint, &sql::record_steps},
    BatchCall{WriteKind::archive, &sql::archive},
    BatchCall{WriteKind::archive, &sql::settle, Form::with_queue},
    BatchCall{WriteKind::remove, &sql::remove},
    BatchCall{WriteKind::remove, &sql::settle, Form::with_queue},
    BatchCall{WriteKind::release, &sql::release},
    BatchCall{WriteKind::release, &sql::settle, Form::with_queue},
    BatchCall{WriteKind::release, &sql::release_tasks, Form::of_task},
    BatchCall{WriteKind::hand_back, &sql::hand_back},
    BatchCall{WriteKind::hand_back, &sql::hand_back_tasks, Form::of_task},
    BatchCall{WriteKind::fail, &sql::fail_or_bury},
    BatchCall{WriteKind::fail, &sql::settle, Form::with_queue},
    BatchCall{WriteKind::bury, &sql::bury},
    BatchCall{WriteKind::extend, &sql::extend},
    BatchCall{WriteKind::extend, &sql::settle, Form::with_queue},
    BatchCall{WriteKind::extend, &sql::extend_tasks, Form::of_task},
    BatchCall{WriteKind::suspend, &sql::suspend_runs},
    BatchCall{WriteKind::suspend, &sql::call_runs, Form::with_call},
    BatchCall{WriteKind::finish, &sql::finish_runs},
    BatchCall{WriteKind::complete_task, &sql::complete_tasks},
    BatchCall{WriteKind::fail_task, &sql::fail_tasks},
    BatchCall{WriteKind::delegate_task, &sql::delegate_tasks},
};

// A kind of write without a function does not compile.
constexpr bool every_kind_has_a_call() {
    for (std::size_t kind = 0; kind < seam::write_kinds; ++kind) {
        bool found = false;
        for (const BatchCall& call : batch_calls)
            found =
                found || (call.kind == static_cast<WriteKind>(kind) && call.form == Form::plain);
        if (!found) return false;
    }
    return true;
}
static_assert(every_kind_has_a_call());

Form form_of(const Write& write) {
    if (write.queue) return Form::with_queue;
    if (write.is<seam::Release, seam::HandBack, seam::Extend>() && seam::task_of(write) != nullptr)
        return Form::of_task;
    if (write.is<seam::Suspend>() && seam::called_run(write) != nullptr) return Form::with_call;
    return Form::plain;
}

constexpr std::size_t forms = 4;

std::size_t slot(WriteKind kind, Form form) {
    return static_cast<std::size_t>(kind) * forms + static_cast<std::size_t>(form);
}

// A settlement of a message, with the action as SQL names it.
struct Settlement {
    std::string_view action;
    Duration time{0};  // a delay, or the length of a lease
    std::string_view reason = {};
};

struct ToSettlement {
    Settlement operator()(const seam::Archive&) const { return {"archive"}; }
    Settlement operator()(const seam::Remove&) const { return {"delete"}; }
    Settlement operator()(const seam::Release& release) const { return {"release", release.delay}; }
    Settlement operator()(const seam::HandBack&) const { return {"hand_back"}; }
    Settlement operator()(const seam::Fail& fail) const {
        return {"fail", fail.retry_after, fail.error};
    }
    Settlement operator()(const seam::Bury& bury) const { return {"bury", {}, bury.reason}; }
    Settlement operator()(const seam::Extend& extend) const { return {"extend", extend.lease}; }
    // Writes of runs and tasks do not settle a message.
    Settlement operator()(const seam::Checkpoint&) const { return {}; }
    Settlement operator()(const seam::Suspend&) const { return {}; }
    Settlement operator()(const seam::Finish&) const { return {}; }
    Settlement operator()(const seam::CompleteTask&) const { return {}; }
    Settlement operator()(const seam::FailTask&) const { return {}; }
    Settlement operator()(const seam::DelegateTask&) const { return {}; }
};

// The columns of writes that settle messages.
struct Settlements {
    Settlements(seam::Writes writes, const Indexes& indexes) {
        for (const std::size_t index : indexes) {
            const Write& write = *writes[index];
            const Settlement settlement = std::visit(ToSettlement{}, write.action);
            messages.push_back(write.lease.message.value());
            deliveries.push_back(write.lease.delivery);
            times_ms.push_back(settlement.time.count());
            reasons.push_back(settlement.reason);
        }
    }
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> times_ms;
    std::vector<std::string_view> reasons;
};

Params message_params(
    WriteKind kind, seam::Writes writes, const Indexes& indexes, Attempt attempt
) {
    const Settlements columns(writes, indexes);
    Params params;
    params.int8_array(columns.messages).int4_array(columns.deliveries);
    if (kind == WriteKind::extend) return std::move(params.int8_array(columns.times_ms));
    params.boolean(attempt == Attempt::repeated);
    if (kind == WriteKind::release || kind == WriteKind::fail) params.int8_array(columns.times_ms);
    if (kind == WriteKind::fail || kind == WriteKind::bury) params.text_array(columns.reasons);
    return params;
}

Params with_queue_params(seam::Writes writes, const Indexes& indexes, Attempt attempt) {
    const Write& first = *writes[indexes.front()];
    const Settlements columns(writes, indexes);
    Params params;
    params.text(*first.queue).text(std::visit(ToSettlement{}, first.action).action);
    params.int8_array(columns.messages).int4_array(columns.deliveries);
    params.int8_array(columns.times_ms).text_array(columns.reasons);
    return std::move(params.boolean(attempt == Attempt::repeated));
}

// How the writes of a batch are sent.
struct Sending {
    Attempt attempt;
    Wake wake;
    SteadyTime at;
};

Params params_of(
    const BatchCall& call, seam::Writes writes, const Indexes& indexes, const Sending& sending
) {
    const auto& [attempt, wake, sent_at] = sending;
    if (call.form == Form::with_queue) return with_queue_params(writes, indexes, attempt);
    const bool of_task = call.form == Form::of_task;
    switch (call.kind) {
        case WriteKind::checkpoint:
            return checkpoint_params(writes, indexes, attempt, sent_at);
        case WriteKind::suspend:
            return call.form == Form::with_call
                       ? call_params(writes, indexes, attempt, wake, sent_at)
                       : suspend_params(writes, indexes, attempt, sent_at);
        case WriteKind::finish:
            return finish_params(writes, indexes, attempt, wake);
        case WriteKind::complete_task:
            return complete_params(writes, indexes, attempt, wake);
        case WriteKind::fail_task:
            return failure_params(writes, indexes, attempt, wake);
        case WriteKind::delegate_task:
            return delegation_params(writes, indexes, attempt, wake);
        case WriteKind::extend:
            if (of_task) return extend_task_params(writes, indexes);
            break;
        case WriteKind::release:
            if (of_task) return release_task_params(writes, indexes, attempt);
            break;
        case WriteKind::hand_back:
            if (of_task) return hand_back_task_params(writes, indexes, attempt);
            break;
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::fail:
        case WriteKind::bury:
            break;
    }
    return message_params(call.kind, writes, indexes, attempt);
}

struct Part {
    const BatchCall* call;
    Indexes indexes;
};

// Single writes, as on an idle system, have separate functions: without arrays they cost a fifth to
// a quarter less.
Call single_call(const Write& write, const Sending& sending, Params& params) {
    if (write.is<seam::Checkpoint>()) {
        params = checkpoint_params(write, sending.attempt, sending.at);
        return {sql::record_step, params};
    }
    params = finish_params(write, sending.attempt, sending.wake);
    return {sql::finish_run, params};
}

bool is_single(const Part& part, seam::Writes writes) {
    if (part.indexes.size() != 1) return false;
    const Write& write = *writes[part.indexes.front()];
    return write.is<seam::Checkpoint>() ||
           (write.is<seam::Finish>() && write.as<seam::Finish>().status == RunStatus::success &&
            !write.event);
}

std::vector<Part> parts_of(seam::Writes writes) {
    std::array<Indexes, seam::write_kinds * forms> indexes;
    for (std::size_t i = 0; i < writes.size(); ++i)
        indexes[slot(writes[i]->kind(), form_of(*writes[i]))].push_back(i);
    std::vector<Part> parts;
    for (const BatchCall& call : batch_calls) {
        Indexes& of_call = indexes[slot(call.kind, call.form)];
        if (of_call.empty()) continue;
        if (call.kind == WriteKind::checkpoint) {
            for (Indexes& part : order_checkpoints(writes, of_call))
                parts.push_back({&call, std::move(part)});
            continue;
        }
        if (call.kind >= WriteKind::suspend) order_by_run(writes, of_call);
        parts.push_back({&call, std::move(of_call)});
    }
    return parts;
}

constexpr model::NameTable<WriteStatus, 4> settle_outcomes{{
    {WriteStatus::done, "done"},
    {WriteStatus::cancelled, "cancelled"},
    {WriteStatus::busy, "busy"},
    {WriteStatus::lease_lost, "lease_lost"},
}};

WriteOutcome to_outcome(std::string_view outcome, const Write& write) {
    if (outcome == "workflow_queue") return seam::refused_workflow_message(write);
    if (outcome == "other_queue") return seam::refused_other_queue(write);
    if (outcome == "dead_letter") return {WriteStatus::done, {}, {}, true};
    if (outcome == "invalid") return seam::refused_value(write);
    return {model::stored_value(settle_outcomes, outcome, "outcome"), {}};
}

// Each function returns the outcomes first. One result reader serves finish_run and finish_runs,
// another complete_tasks and fail_tasks.
static_assert(sql::row::FinishRun::outcomes == 0);
static_assert(sql::row::FinishRun::names == sql::row::FinishRuns::names);
static_assert(sql::row::CompleteTasks::outcomes == 0);
static_assert(sql::row::CompleteTasks::names == sql::row::FailTasks::names);
static_assert(sql::row::CallRuns::outcomes == 0);
static_assert(sql::row::CallRuns::names == sql::row::DelegateTasks::names);

void add_queues(const Rows& answer, int column, CommitSideEffects& effects) {
    for (const auto queue : answer.int8_array(0, column)) effects.queues.emplace_back(queue);
}

void add_runs(const Rows& answer, int column, std::vector<RunId>& runs) {
    for (const auto run : answer.int8_array(0, column)) runs.emplace_back(run);
}

// Reads what the functions return in addition to the outcomes.
void read_side_effects(const BatchCall& call, const Rows& answer, CommitSideEffects& effects) {
    if (call.form == Form::with_call || call.kind == WriteKind::delegate_task)
        add_queues(answer, sql::row::CallRuns::queues, effects);
    if (call.kind == WriteKind::finish)
        add_runs(answer, sql::row::FinishRuns::awaited, effects.awaited);
    if (call.kind == WriteKind::complete_task || call.kind == WriteKind::fail_task) {
        using Row = sql::row::CompleteTasks;
        add_runs(answer, Row::awaited, effects.awaited);
        add_runs(answer, Row::ended, effects.ended);
        add_queues(answer, Row::queues, effects);
    }
}

}  // namespace

void commit_batch(
    Connection& connection,
    seam::Writes writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes,
    CommitSideEffects& effects
) {
    const auto parts = parts_of(writes);
    const Sending sending{attempt, effects.wake, std::chrono::steady_clock::now()};
    std::vector<Params> params;
    std::vector<Call> calls;
    params.reserve(parts.size() + 2);
    for (const Part& part : parts) {
        if (is_single(part, writes)) {
            const Write& write = *writes[part.indexes.front()];
            calls.push_back(single_call(write, sending, params.emplace_back()));
            continue;
        }
        params.push_back(params_of(*part.call, writes, part.indexes, sending));
        calls.push_back({*part.call->statement, params.back()});
    }
    // Events of ctx.publish are added to the outbox after their steps, in the same transaction.
    if (const Indexes events = publishing_checkpoints(writes); !events.empty()) {
        params.push_back(event_params(writes, events));
        calls.push_back({sql::publish_steps, params.back()});
    }
    if (const Indexes audited = audited_checkpoints(writes); !audited.empty()) {
        params.push_back(step_event_params(writes, audited, attempt));
        calls.push_back({sql::add_step_events, params.back()});
    }
    const auto answers = connection.run(calls, IfAnswerLost::doubt);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto statuses = answers[i].text_array(0, 0);
        for (std::size_t item = 0; item < statuses.size(); ++item)
            outcomes[parts[i].indexes[item]] =
                to_outcome(statuses[item], *writes[parts[i].indexes[item]]);
        read_side_effects(*parts[i].call, answers[i], effects);
    }
}

}  // namespace pawl::postgres
