#include <algorithm>
#include <numeric>

#include "generated/sqlite_sql.h"
#include "sqlite/new_run.h"
#include "sqlite/run_state.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

namespace {

using Microseconds = std::vector<std::int64_t>;

Duration rounded(double microseconds) {
    return std::chrono::round<Duration>(std::chrono::duration<double, std::micro>(microseconds));
}

// As percentile_cont of SQL: between two values, what lies between them.
Duration percentile(const Microseconds& sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const auto low = static_cast<double>(sorted[below]);
    const auto high = static_cast<double>(sorted[above]);
    return rounded(low + (high - low) * (place - static_cast<double>(below)));
}

void read_ended(Session& session, QueueId workflow, Timestamp now, WorkflowMetrics& metrics) {
    Microseconds durations;
    Rows rows = session.query(sql::ended_runs, workflow, now - metrics.window, now);
    while (rows.next()) {
        const RunStatus status = to_run_status(rows.text(0));
        if (status == RunStatus::success) {
            ++metrics.succeeded;
            if (!rows.null(1)) durations.push_back(rows.integer(1));
        } else if (status == RunStatus::error) {
            ++metrics.failed;
        } else {
            ++metrics.cancelled;
        }
    }
    if (durations.empty()) return;
    std::ranges::sort(durations);
    const double sum = std::accumulate(durations.begin(), durations.end(), 0.0);
    metrics.average_duration = rounded(sum / static_cast<double>(durations.size()));
    metrics.p50_duration = percentile(durations, 0.5);
    metrics.p95_duration = percentile(durations, 0.95);
    metrics.p99_duration = percentile(durations, 0.99);
}

void derive_rates(WorkflowMetrics& metrics) {
    const auto decided = static_cast<double>(metrics.succeeded + metrics.failed);
    if (decided > 0) {
        metrics.success_rate = static_cast<double>(metrics.succeeded) / decided;
        metrics.failure_rate = static_cast<double>(metrics.failed) / decided;
    }
    const double seconds = std::chrono::duration<double>(metrics.window).count();
    if (seconds > 0)
        metrics.runs_per_second = (decided + static_cast<double>(metrics.cancelled)) / seconds;
}

void read_depth(Session& session, QueueId workflow, Timestamp now, WorkflowMetrics& metrics) {
    Rows rows = session.query(sql::workflow_depth, workflow, now);
    if (!rows.next()) return;
    metrics.queue_depth = rows.integer(0);
    metrics.in_flight = rows.integer(1);
    metrics.waiting = rows.integer(2);
    if (!rows.null(3)) metrics.oldest_waiting = std::chrono::round<Duration>(now - rows.time(3));
}

}  // namespace

WorkflowMetrics SqliteStore::workflow_metrics(const std::string& name, Duration window) {
    return read([&](Session& session) {
        const QueueId workflow = require_workflow(session, name).id;
        const Timestamp now = current_time(session);
        WorkflowMetrics metrics;
        metrics.workflow = name;
        metrics.window = window;
        read_ended(session, workflow, now, metrics);
        derive_rates(metrics);
        read_depth(session, workflow, now, metrics);
        return metrics;
    });
}

}  // namespace pawl::sqlite
