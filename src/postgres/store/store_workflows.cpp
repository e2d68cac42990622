#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "postgres/batch/queue_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

std::optional<Duration> optional_duration(const Rows& rows, int row, int column) {
    if (rows.is_null(row, column)) return std::nullopt;
    return Duration(rows.int8(row, column));
}

std::vector<WorkflowInfo> read_workflows(const Rows& rows) {
    using Row = store::row::Workflow;
    std::vector<WorkflowInfo> workflows;
    for (int i = 0; i < rows.size(); ++i) {
        WorkflowInfo workflow;
        workflow.queue = QueueId(rows.int8(i, Row::workflow_id));
        workflow.name = rows.text(i, Row::workflow);
        workflow.paused = rows.boolean(i, Row::paused);
        workflow.max_attempts = rows.int4(i, Row::max_attempts);
        workflow.backoff_base = Duration(rows.int8(i, Row::backoff_base_ms));
        workflow.backoff_cap = Duration(rows.int8(i, Row::backoff_cap_ms));
        workflow.lease = optional_duration(rows, i, Row::lease_ms);
        workflow.run_timeout = optional_duration(rows, i, Row::run_timeout_ms);
        workflow.max_strikes = rows.int4(i, Row::max_strikes);
        workflow.dead_letter_workflow = rows.text(i, Row::dead_letter_workflow);
        workflow.audit =
            model::stored_value(model::audit_levels, rows.text(i, Row::audit), "audit level");
        workflow.created_at = rows.time(i, Row::created_at);
        workflow.is_flow = rows.boolean(i, Row::is_flow);
        workflow.task_timeout = optional_duration(rows, i, Row::task_timeout_ms);
        workflow.publish =
            model::stored_value(model::publish_levels, rows.text(i, Row::publish), "publish level");
        workflows.push_back(std::move(workflow));
    }
    return workflows;
}

}  // namespace

void PostgresStore::create_workflow(const std::string& name, const WorkflowOptions& options) {
    Params params;
    params.text(name).optional(options.max_attempts, &Params::int4);
    params.milliseconds(options.backoff_base).milliseconds(options.backoff_cap);
    params.milliseconds(options.lease).milliseconds(options.run_timeout);
    params.optional(options.max_strikes, &Params::int4);
    if (options.dead_letter_workflow) {
        params.text(*options.dead_letter_workflow);
    } else {
        params.null();
    }
    if (options.audit) {
        params.text(to_string(*options.audit));
    } else {
        params.null();
    }
    if (options.publish) {
        params.text(to_string(*options.publish));
    } else {
        params.null();
    }
    call(
        sql::create_workflow, params, IfAnswerLost::repeat
    );  // idempotent, so a lost answer is not in doubt
}

void PostgresStore::delete_workflow(const std::string& name) {
    call(sql::delete_workflow, one_text(name), IfAnswerLost::doubt);
}

std::vector<WorkflowInfo> PostgresStore::workflows(const std::optional<std::string>& only) {
    Params params;
    if (only) {
        params.text(*only);
    } else {
        params.null();
    }
    return read_workflows(worker_call(sql::list_workflows, params, IfAnswerLost::repeat));
}

std::vector<WorkflowInfo> PostgresStore::workflows_named(std::span<const std::string> names) {
    Params params;
    params.text_array(names);
    return read_workflows(worker_call(sql::named_workflows, params, IfAnswerLost::repeat));
}

WorkflowMetrics PostgresStore::workflow_metrics(const std::string& name, Duration window) {
    using Row = store::row::WorkflowStats;
    Params params;
    params.text(name).int8(window.count()).int4(static_cast<int>(model::rules::count_limit));
    const Rows rows = call(sql::workflow_stats, params, IfAnswerLost::repeat);
    const auto count = [&](int column, std::string_view what) {
        return read_count(rows, 0, column, Row::at_least, what);
    };
    WorkflowMetrics metrics;
    metrics.workflow = name;
    metrics.window = window;
    metrics.succeeded = count(Row::succeeded, "succeeded");
    metrics.failed = count(Row::failed, "failed");
    metrics.cancelled = count(Row::cancelled, "cancelled");
    model::derive_rates(metrics, Duration(rows.int8(0, Row::counted_ms)));
    metrics.average_duration = optional_duration(rows, 0, Row::average_ms);
    metrics.p50_duration = optional_duration(rows, 0, Row::p50_ms);
    metrics.p95_duration = optional_duration(rows, 0, Row::p95_ms);
    metrics.p99_duration = optional_duration(rows, 0, Row::p99_ms);
    metrics.queue_depth = count(Row::queue_depth, "queue_depth");
    metrics.in_flight = count(Row::in_flight, "in_flight");
    metrics.waiting = count(Row::waiting, "waiting");
    metrics.oldest_waiting = optional_duration(rows, 0, Row::oldest_waiting_ms);
    return metrics;
}

bool PostgresStore::has_live_handler(const std::string& workflow) {
    return call(sql::has_live_handler, one_text(workflow), IfAnswerLost::repeat).boolean(0, 0);
}

std::vector<RunId> PostgresStore::fail_unhandled(std::span<const std::string> prefixes) {
    Params params;
    params.text_array(prefixes);
    // IfAnswerLost::repeat: the next call finds the runs that are not failed yet.
    std::vector<RunId> failed;
    for (const auto run :
         worker_call(sql::fail_unhandled, params, IfAnswerLost::repeat).int8_array(0, 0))
        failed.emplace_back(run);
    for (const RunId run : failed) signals_.notify(run);
    return failed;
}

}  // namespace pawl::postgres
