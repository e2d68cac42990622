// Lookups of runs.
#include <array>

#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/run_error.h"
#include "model/wait.h"
#include "postgres/batch/claim_rows.h"
#include "postgres/batch/run_keys.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::RunEnd;

namespace {

Params& add_text(Params& params, const std::optional<std::string>& text) {
    return text ? params.text(*text) : params.null();
}

Params filter_params(const RunFilter& filter) {
    Params params;
    add_text(params, filter.workflow);
    if (filter.status) {
        params.text(to_string(*filter.status));
    } else {
        params.null();
    }
    params.optional(filter.created_from, &Params::time);
    params.optional(filter.created_before, &Params::time);
    add_text(params, filter.tag);
    add_text(params, filter.idempotency_key).boolean(filter.include_deleted);
    return params;
}

RunStatus to_run_status(std::string_view name) {
    return model::stored_value(model::run_statuses, name, "run status");
}

std::optional<int> optional_int(const Rows& rows, int row, int column) {
    if (rows.is_null(row, column)) return std::nullopt;
    return rows.int4(row, column);
}

std::vector<RunInfo> read_runs(const Rows& rows) {
    using store::row::Run;
    std::vector<RunInfo> runs;
    for (int i = 0; i < rows.size(); ++i) {
        RunInfo& run = runs.emplace_back();
        run.id = RunId(rows.int8(i, Run::run_id));
        run.workflow = rows.text(i, Run::workflow);
        run.status = to_run_status(rows.text(i, Run::status));
        run.priority = rows.int4(i, Run::priority);
        run.max_attempts = optional_int(rows, i, Run::max_attempts);
        run.delivery = rows.int4(i, Run::delivery);
        run.strikes = rows.int4(i, Run::strikes);
        run.attempts = rows.int4(i, Run::attempts);
        run.worker = WorkerId(rows.id(i, Run::worker_id));
        run.parent = RunId(rows.id(i, Run::parent_run_id));
        run.origin = RunId(rows.id(i, Run::origin_run_id));
        run.forked_at = rows.text(i, Run::forked_at);
        if (!rows.is_null(i, Run::idempotency_key))
            run.idempotency_key = rows.string(i, Run::idempotency_key);
        for (const auto tag : rows.text_array(i, Run::tags)) run.tags.emplace_back(tag);
        run.input.text = rows.text(i, Run::input);
        run.output = rows.optional_json(i, Run::output);
        run.error = rows.optional_json(i, Run::error);
        run.last_error = run.error ? model::readable(model::to_run_error(*run.error))
                                   : rows.string(i, Run::last_error);
        run.visible_at = rows.optional_time(i, Run::visible_at);
        run.created_at = rows.time(i, Run::created_at);
        run.updated_at = rows.time(i, Run::updated_at);
        run.started_at = rows.optional_time(i, Run::started_at);
        run.paused_at = rows.optional_time(i, Run::paused_at);
        run.completed_at = rows.optional_time(i, Run::completed_at);
        run.deleted_at = rows.optional_time(i, Run::deleted_at);
        run.deleted_reason = rows.text(i, Run::deleted_reason);
        run.remaining_steps = optional_int(rows, i, Run::remaining_steps);
    }
    return runs;
}

std::optional<RunEnd> read_end(const Rows& rows) {
    using End = store::row::RunEnd;
    if (rows.empty()) return std::nullopt;
    return RunEnd{
        to_run_status(rows.text(0, End::status)),
        rows.boolean(0, End::deleted),
        rows.optional_json(0, End::output)};
}

}  // namespace

std::optional<RunInfo> PostgresStore::find_run(RunId run) {
    auto found = read_runs(call(sql::get_run, one_run(run), IfAnswerLost::repeat));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::optional<RunEnd> PostgresStore::find_end(RunId run) {
    return read_end(call(sql::find_end, one_run(run), IfAnswerLost::repeat));
}

std::optional<RunEnd> PostgresStore::announce_waiter(RunId run) {
    if (!capabilities().remote_wakeups) return find_end(run);
    const Params params = one_run(run);
    const std::array calls{
        Call{sql::await_run, params, Call::Then::commit}, Call{sql::find_end, params}};
    const auto connection = checked(pool_);
    // A hint and a lookup: safe to repeat.
    const auto answers = translated([&] { return connection->run(calls, IfAnswerLost::repeat); });
    return read_end(answers.back());
}

std::vector<RunInfo> PostgresStore::list_runs(const RunFilter& filter, const RunPage& page) {
    Params params = filter_params(filter);
    if (page.before) {
        params.int8(page.before.value());
    } else {
        params.null();
    }
    params.int4(page.limit);
    return read_runs(call(sql::list_runs, params, IfAnswerLost::repeat));
}

RunCounts PostgresStore::count_runs(const RunFilter& filter, std::int64_t limit) {
    Params params = filter_params(filter);
    params.int4(static_cast<int>(limit));
    const Rows rows = call(sql::run_counts, params, IfAnswerLost::repeat);
    using Row = sql::row::RunCounts;
    RunCounts counts;
    for (int i = 0; i < rows.size(); ++i)
        model::count_of(counts, to_run_status(rows.text(i, Row::run_status))) = {
            rows.int8(i, Row::runs), rows.boolean(i, Row::exact)};
    return counts;
}

std::vector<StepInfo> PostgresStore::steps(RunId run) {
    const Rows rows = worker_call(sql::list_steps, one_run(run), IfAnswerLost::repeat);
    using store::row::Step;
    std::vector<StepInfo> steps;
    for (int i = 0; i < rows.size(); ++i) {
        StepInfo& step = steps.emplace_back();
        step.id = rows.text(i, Step::step_id);
        step.position = rows.int4(i, Step::position);
        step.status = to_step_status(rows.text(i, Step::status));
        step.attempt = rows.int4(i, Step::attempt);
        step.delivery = rows.int4(i, Step::delivery);
        step.worker = WorkerId(rows.id(i, Step::worker_id));
        step.input = rows.optional_json(i, Step::input);
        step.output = rows.optional_json(i, Step::output);
        step.error = rows.optional_json(i, Step::error);
        step.pause_message = rows.text(i, Step::pause_message);
        step.pause_condition = rows.text(i, Step::pause_condition);
        step.wake_at = rows.optional_time(i, Step::wake_at);
        step.started_at = rows.optional_time(i, Step::started_at);
        step.completed_at = rows.optional_time(i, Step::completed_at);
        step.remaining_deps = optional_int(rows, i, Step::remaining_deps);
        step.initial_tasks = optional_int(rows, i, Step::initial_tasks);
        step.remaining_tasks = optional_int(rows, i, Step::remaining_tasks);
        step.skip_reason = rows.text(i, Step::skip_reason);
        step.waits_for = model::wait_of(step, RunId(rows.id(i, Step::called_run_id)));
    }
    return steps;
}

std::vector<seam::ReplayStep> PostgresStore::recorded_steps(RunId run) {
    std::vector<seam::ReplayStep> recorded;
    for (StepInfo& info : steps(run)) {
        if (info.status == StepStatus::cancelled) continue;
        seam::ReplayStep& step = recorded.emplace_back();
        step.id = std::move(info.id);
        step.position = info.position;
        step.status = info.status;
        step.attempt = info.attempt;
        if (info.status == StepStatus::success && info.output) step.output = info.output->text;
        if (info.status == StepStatus::error && info.error) step.error = info.error->text;
        step.wake_at = info.wake_at;
    }
    return recorded;
}

std::vector<RunEvent> PostgresStore::events(RunId run) {
    const Rows rows = call(sql::list_events, one_run(run), IfAnswerLost::repeat);
    using store::row::Event;
    std::vector<RunEvent> events;
    for (int i = 0; i < rows.size(); ++i) {
        RunEvent& event = events.emplace_back();
        event.id = rows.int8(i, Event::event_id);
        event.run = RunId(rows.int8(i, Event::run_id));
        event.kind = rows.text(i, Event::kind);
        event.data.text = rows.text(i, Event::data);
        event.worker = WorkerId(rows.id(i, Event::worker_id));
        event.delivery = rows.int4(i, Event::delivery);
        event.at = rows.time(i, Event::at);
    }
    return events;
}

std::vector<RunInfo> PostgresStore::lineage(RunId run) {
    return read_runs(call(sql::lineage, one_run(run), IfAnswerLost::repeat));
}

}  // namespace pawl::postgres
