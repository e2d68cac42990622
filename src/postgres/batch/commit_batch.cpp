#include "postgres/batch/commit_batch.h"

#include <array>

#include "generated/postgres_sql.h"
#include "postgres/batch/run_params.h"
#include "postgres/batch/task_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

// Writes of one kind go to one function, but for those that name more: a task, a run to be made, or
// the queue that the message must be in.
enum class Form { plain, of_task, with_call, by_hand };

struct SettleCall {
    WriteKind kind;
    const store::Statement* statement;
    Form form = Form::plain;
};
// In the order in which they are sent: what a run records comes before what ends its hand-out.
constexpr std::array settle_calls{
    SettleCall{WriteKind::checkpoint, &sql::record_steps},
    SettleCall{WriteKind::archive, &sql::archive},
    SettleCall{WriteKind::archive, &sql::settle, Form::by_hand},
    SettleCall{WriteKind::remove, &sql::remove},
    SettleCall{WriteKind::remove, &sql::settle, Form::by_hand},
    SettleCall{WriteKind::release, &sql::release},
    SettleCall{WriteKind::release, &sql::settle, Form::by_hand},
    SettleCall{WriteKind::release, &sql::release_tasks, Form::of_task},
    SettleCall{WriteKind::hand_back, &sql::hand_back},
    SettleCall{WriteKind::hand_back, &sql::hand_back_tasks, Form::of_task},
    SettleCall{WriteKind::fail, &sql::fail},
    SettleCall{WriteKind::fail, &sql::settle, Form::by_hand},
    SettleCall{WriteKind::bury, &sql::bury},
    SettleCall{WriteKind::extend, &sql::extend},
    SettleCall{WriteKind::extend, &sql::settle, Form::by_hand},
    SettleCall{WriteKind::extend, &sql::extend_tasks, Form::of_task},
    SettleCall{WriteKind::suspend, &sql::suspend_runs},
    SettleCall{WriteKind::suspend, &sql::call_runs, Form::with_call},
    SettleCall{WriteKind::finish, &sql::finish_runs},
    SettleCall{WriteKind::complete_task, &sql::complete_tasks},
    SettleCall{WriteKind::fail_task, &sql::fail_tasks},
    SettleCall{WriteKind::delegate_task, &sql::delegate_tasks},
};

Form form_of(const Write& write) {
    if (write.queue) return Form::by_hand;
    const bool gives_back = write.kind == WriteKind::release || write.kind == WriteKind::hand_back;
    if (write.task && (gives_back || write.kind == WriteKind::extend)) return Form::of_task;
    if (write.kind == WriteKind::suspend && write.call) return Form::with_call;
    return Form::plain;
}

constexpr std::size_t forms = 4;
constexpr std::size_t write_kinds = static_cast<std::size_t>(WriteKind::delegate_task) + 1;

std::size_t slot(WriteKind kind, Form form) {
    return static_cast<std::size_t>(kind) * forms + static_cast<std::size_t>(form);
}

Params message_params(
    WriteKind kind, std::span<const Write> writes, const Places& places, Attempt attempt
) {
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::string_view> reasons;
    for (const std::size_t place : places) {
        messages.push_back(writes[place].lease.message.value());
        deliveries.push_back(writes[place].lease.delivery);
        delays_ms.push_back(writes[place].delay.count());
        reasons.push_back(writes[place].reason);
    }
    Params params;
    params.int8_array(messages).int4_array(deliveries);
    if (kind == WriteKind::extend) return std::move(params.int8_array(delays_ms));
    params.boolean(attempt == Attempt::repeated);
    if (kind == WriteKind::release || kind == WriteKind::fail) params.int8_array(delays_ms);
    if (kind == WriteKind::fail || kind == WriteKind::bury) params.text_array(reasons);
    return params;
}

std::string_view action_of(WriteKind kind) {
    switch (kind) {
        case WriteKind::archive:
            return "archive";
        case WriteKind::remove:
            return "delete";
        case WriteKind::release:
            return "release";
        case WriteKind::hand_back:
            return "hand_back";
        case WriteKind::fail:
            return "fail";
        case WriteKind::bury:
            return "bury";
        case WriteKind::extend:
            return "extend";
        case WriteKind::checkpoint:
        case WriteKind::suspend:
        case WriteKind::finish:
        case WriteKind::complete_task:
        case WriteKind::fail_task:
        case WriteKind::delegate_task:
            break;
    }
    return "";  // never settled by hand
}

Params by_hand_params(
    WriteKind kind, std::span<const Write> writes, const Places& places, Attempt attempt
) {
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::string_view> reasons;
    for (const std::size_t place : places) {
        messages.push_back(writes[place].lease.message.value());
        deliveries.push_back(writes[place].lease.delivery);
        delays_ms.push_back(writes[place].delay.count());
        reasons.push_back(writes[place].reason);
    }
    Params params;
    params.text(*writes[places.front()].queue).text(action_of(kind));
    params.int8_array(messages).int4_array(deliveries).int8_array(delays_ms).text_array(reasons);
    return std::move(params.boolean(attempt == Attempt::repeated));
}

Params params_of(
    const SettleCall& call,
    std::span<const Write> writes,
    const Places& places,
    Attempt attempt,
    Wake wake
) {
    if (call.form == Form::by_hand) return by_hand_params(call.kind, writes, places, attempt);
    switch (call.kind) {
        case WriteKind::checkpoint:
            return checkpoint_params(writes, places, attempt);
        case WriteKind::suspend:
            return call.form == Form::with_call ? call_params(writes, places, attempt, wake)
                                                : suspend_params(writes, places, attempt);
        case WriteKind::finish:
            return finish_params(writes, places, attempt, wake);
        case WriteKind::complete_task:
            return complete_params(writes, places, attempt, wake);
        case WriteKind::fail_task:
            return failure_params(writes, places, attempt, wake);
        case WriteKind::delegate_task:
            return delegation_params(writes, places, attempt, wake);
        case WriteKind::extend:
        case WriteKind::release:
        case WriteKind::hand_back:
            if (call.form == Form::of_task)
                return task_lease_params(call.kind, writes, places, attempt);
            break;
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::fail:
        case WriteKind::bury:
            break;
    }
    return message_params(call.kind, writes, places, attempt);
}

struct Part {
    const SettleCall* call;
    Places places;
};

// What is written alone, as on an idle system, has functions of its own: without arrays they cost
// a fifth to a quarter less.
Call single_call(const Write& write, Attempt attempt, Wake wake, Params& params) {
    if (write.kind == WriteKind::checkpoint) {
        params = checkpoint_params(write, attempt);
        return {sql::record_step, params};
    }
    params = finish_params(write, attempt, wake);
    return {sql::finish_run, params};
}

bool is_single(const Part& part, std::span<const Write> writes) {
    if (part.places.size() != 1) return false;
    const Write& write = writes[part.places.front()];
    return write.kind == WriteKind::checkpoint ||
           (write.kind == WriteKind::finish && write.status == RunStatus::success &&
            write.event.empty());
}

std::vector<Part> parts_of(std::span<const Write> writes) {
    std::array<Places, write_kinds * forms> places;
    for (std::size_t i = 0; i < writes.size(); ++i)
        places[slot(writes[i].kind, form_of(writes[i]))].push_back(i);
    std::vector<Part> parts;
    for (const SettleCall& call : settle_calls) {
        Places& mine = places[slot(call.kind, call.form)];
        if (mine.empty()) continue;
        if (call.kind == WriteKind::checkpoint) {
            for (Places& part : order_checkpoints(writes, mine))
                parts.push_back({&call, std::move(part)});
            continue;
        }
        if (call.kind >= WriteKind::suspend) order_by_run(writes, mine);
        parts.push_back({&call, std::move(mine)});
    }
    return parts;
}

WriteStatus to_status(std::string_view outcome) {
    if (outcome == "done") return WriteStatus::done;
    if (outcome == "cancelled") return WriteStatus::cancelled;
    return outcome == "busy" ? WriteStatus::busy : WriteStatus::lease_lost;
}

WriteOutcome to_outcome(std::string_view outcome, const Write& write) {
    if (outcome == "workflow_queue") return seam::refused_workflow_message(write);
    if (outcome == "other_queue") return seam::refused_other_queue(write);
    if (outcome == "invalid") return seam::refused_value(write);
    return {to_status(outcome), {}};
}

void add_queues(const Rows& answer, int column, Ends& ends) {
    for (const auto queue : answer.int8_array(0, column)) ends.queues.emplace_back(queue);
}

// What the functions tell besides the outcomes.
void read_ends(const SettleCall& call, const Rows& answer, Ends& ends) {
    const bool of_tasks =
        call.kind == WriteKind::complete_task || call.kind == WriteKind::fail_task;
    if (call.form == Form::with_call || call.kind == WriteKind::delegate_task)
        add_queues(answer, 1, ends);
    if (call.kind != WriteKind::finish && !of_tasks) return;
    for (const auto run : answer.int8_array(0, 1)) ends.awaited.emplace_back(run);
    if (!of_tasks) return;
    for (const auto run : answer.int8_array(0, 2)) ends.ended.emplace_back(run);
    add_queues(answer, 3, ends);
}

}  // namespace

void settle(
    Connection& connection,
    std::span<const Write> writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes,
    Ends& ends
) {
    const auto parts = parts_of(writes);
    std::vector<Params> params;
    std::vector<Call> calls;
    params.reserve(parts.size() + 2);
    for (const Part& part : parts) {
        if (is_single(part, writes)) {
            const Write& write = writes[part.places.front()];
            calls.push_back(single_call(write, attempt, ends.wake, params.emplace_back()));
            continue;
        }
        params.push_back(params_of(*part.call, writes, part.places, attempt, ends.wake));
        calls.push_back({*part.call->statement, params.back()});
    }
    // What ctx.publish recorded goes into the outbox behind it, in the same transaction.
    if (const Places events = with_events(writes); !events.empty()) {
        params.push_back(event_params(writes, events));
        calls.push_back({sql::publish_steps, params.back()});
    }
    if (const Places audited = audited_checkpoints(writes); !audited.empty()) {
        params.push_back(step_event_params(writes, audited, attempt));
        calls.push_back({sql::add_step_events, params.back()});
    }
    const auto answers = connection.run(calls, IfAnswerLost::doubt);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto words = answers[i].text_array(0, 0);
        for (std::size_t item = 0; item < words.size(); ++item)
            outcomes[parts[i].places[item]] =
                to_outcome(words[item], writes[parts[i].places[item]]);
        read_ends(*parts[i].call, answers[i], ends);
    }
}

}  // namespace pawl::postgres
