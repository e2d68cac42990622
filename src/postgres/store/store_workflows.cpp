#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "postgres/batch/queue_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

std::optional<Duration> optional_duration(const Rows& rows, int row, int column) {
    if (rows.is_null(row, column)) return std::nullopt;
    return Duration(rows.int8(row, column));
}

std::vector<WorkflowInfo> read_workflows(const Rows& rows) {
    std::vector<WorkflowInfo> workflows;
    for (int i = 0; i < rows.size(); ++i) {
        WorkflowInfo workflow;
        workflow.queue = QueueId(rows.int8(i, 0));
        workflow.name = rows.text(i, 1);
        workflow.paused = rows.boolean(i, 2);
        workflow.max_attempts = rows.int4(i, 3);
        workflow.backoff_base = Duration(rows.int8(i, 4));
        workflow.backoff_cap = Duration(rows.int8(i, 5));
        workflow.lease = optional_duration(rows, i, 6);
        workflow.run_timeout = optional_duration(rows, i, 7);
        workflow.max_strikes = rows.int4(i, 8);
        workflow.dead_letter_workflow = rows.text(i, 9);
        workflow.audit = model::stored_value(model::audit_levels, rows.text(i, 10), "audit level");
        workflow.created_at = rows.time(i, 11);
        workflow.is_flow = rows.boolean(i, 12);
        workflow.task_timeout = optional_duration(rows, i, 13);
        workflow.publish =
            model::stored_value(model::publish_levels, rows.text(i, 14), "publish level");
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
    );  // idempotent: a lost answer leaves no doubt
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

WorkflowMetrics PostgresStore::workflow_metrics(const std::string& name, Duration window) {
    Params params;
    params.text(name).int8(window.count()).int4(static_cast<int>(model::count_limit));
    const Rows rows = call(sql::workflow_stats, params, IfAnswerLost::repeat);
    const auto count = [&](int column, std::string_view what) {
        return read_count(rows, 0, column, 12, what);
    };
    WorkflowMetrics metrics;
    metrics.workflow = name;
    metrics.window = window;
    metrics.succeeded = count(0, "succeeded");
    metrics.failed = count(1, "failed");
    metrics.cancelled = count(2, "cancelled");
    model::derive_rates(metrics, Duration(rows.int8(0, 11)));
    metrics.average_duration = optional_duration(rows, 0, 3);
    metrics.p50_duration = optional_duration(rows, 0, 4);
    metrics.p95_duration = optional_duration(rows, 0, 5);
    metrics.p99_duration = optional_duration(rows, 0, 6);
    metrics.queue_depth = count(7, "queue_depth");
    metrics.in_flight = count(8, "in_flight");
    metrics.waiting = count(9, "waiting");
    metrics.oldest_waiting = optional_duration(rows, 0, 10);
    return metrics;
}

bool PostgresStore::has_live_handler(const std::string& workflow) {
    return call(sql::has_live_handler, one_text(workflow), IfAnswerLost::repeat).boolean(0, 0);
}

std::vector<RunId> PostgresStore::fail_unhandled(std::span<const std::string> prefixes) {
    Params params;
    params.text_array(prefixes);
    // IfAnswerLost::repeat: what a lost answer leaves undone, or done, the next call finds out.
    std::vector<RunId> failed;
    for (const auto run :
         worker_call(sql::fail_unhandled, params, IfAnswerLost::repeat).int8_array(0, 0))
        failed.emplace_back(run);
    for (const RunId run : failed) signals_.notify(run);
    return failed;
}

}  // namespace pawl::postgres
