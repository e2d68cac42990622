// Look-ups of runs.
#include <array>

#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/run_error.h"
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
    std::vector<RunInfo> runs;
    for (int i = 0; i < rows.size(); ++i) {
        RunInfo& run = runs.emplace_back();
        run.id = RunId(rows.int8(i, 0));
        run.workflow = rows.text(i, 1);
        run.status = to_run_status(rows.text(i, 2));
        run.priority = rows.int4(i, 3);
        run.max_attempts = optional_int(rows, i, 4);
        run.delivery = rows.int4(i, 5);
        run.strikes = rows.int4(i, 6);
        run.attempts = rows.int4(i, 7);
        run.worker = WorkerId(rows.id(i, 8));
        run.parent = RunId(rows.id(i, 9));
        run.origin = RunId(rows.id(i, 10));
        run.forked_at = rows.text(i, 11);
        if (!rows.is_null(i, 12)) run.idempotency_key = rows.string(i, 12);
        for (const auto tag : rows.text_array(i, 13)) run.tags.emplace_back(tag);
        run.input.text = rows.text(i, 14);
        run.output = rows.optional_json(i, 15);
        run.error = rows.optional_json(i, 16);
        run.last_error =
            run.error ? model::readable(model::to_run_error(*run.error)) : rows.string(i, 17);
        run.visible_at = rows.optional_time(i, 18);
        run.created_at = rows.time(i, 19);
        run.updated_at = rows.time(i, 20);
        run.started_at = rows.optional_time(i, 21);
        run.paused_at = rows.optional_time(i, 22);
        run.completed_at = rows.optional_time(i, 23);
        run.deleted_at = rows.optional_time(i, 24);
        run.deleted_reason = rows.text(i, 25);
        run.remaining_steps = optional_int(rows, i, 26);
    }
    return runs;
}

std::optional<RunEnd> read_end(const Rows& rows) {
    if (rows.empty()) return std::nullopt;
    return RunEnd{to_run_status(rows.text(0, 0)), rows.boolean(0, 1), rows.optional_json(0, 2)};
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
    // A hint and a look: a lost answer does not matter.
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
    RunCounts counts;
    for (int i = 0; i < rows.size(); ++i)
        model::count_of(counts, to_run_status(rows.text(i, 0))) = {
            rows.int8(i, 1), rows.boolean(i, 2)};
    return counts;
}

std::vector<StepInfo> PostgresStore::steps(RunId run) {
    const Rows rows = worker_call(sql::list_steps, one_run(run), IfAnswerLost::repeat);
    std::vector<StepInfo> steps;
    for (int i = 0; i < rows.size(); ++i) {
        StepInfo& step = steps.emplace_back();
        step.id = rows.text(i, 0);
        step.position = rows.int4(i, 1);
        step.status = to_step_status(rows.text(i, 2));
        step.attempt = rows.int4(i, 3);
        step.delivery = rows.int4(i, 4);
        step.worker = WorkerId(rows.id(i, 5));
        step.input = rows.optional_json(i, 6);
        step.output = rows.optional_json(i, 7);
        step.error = rows.optional_json(i, 8);
        step.pause_message = rows.text(i, 9);
        step.pause_condition = rows.text(i, 10);
        step.wake_at = rows.optional_time(i, 11);
        step.started_at = rows.optional_time(i, 12);
        step.completed_at = rows.optional_time(i, 13);
        step.remaining_deps = optional_int(rows, i, 14);
        step.initial_tasks = optional_int(rows, i, 15);
        step.remaining_tasks = optional_int(rows, i, 16);
        step.skip_reason = rows.text(i, 17);
    }
    return steps;
}

std::vector<seam::RecordedStep> PostgresStore::recorded_steps(RunId run) {
    std::vector<seam::RecordedStep> recorded;
    for (StepInfo& info : steps(run)) {
        if (info.status == StepStatus::cancelled) continue;
        seam::RecordedStep& step = recorded.emplace_back();
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
    std::vector<RunEvent> events;
    for (int i = 0; i < rows.size(); ++i) {
        RunEvent& event = events.emplace_back();
        event.id = rows.int8(i, 0);
        event.run = RunId(rows.int8(i, 1));
        event.kind = rows.text(i, 2);
        event.data.text = rows.text(i, 3);
        event.worker = WorkerId(rows.id(i, 4));
        event.delivery = rows.int4(i, 5);
        event.at = rows.time(i, 6);
    }
    return events;
}

std::vector<RunInfo> PostgresStore::lineage(RunId run) {
    return read_runs(call(sql::lineage, one_run(run), IfAnswerLost::repeat));
}

// The functions themselves notify the other processes; this one is told here.
}  // namespace pawl::postgres
