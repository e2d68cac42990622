#include <algorithm>
#include <numeric>

#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"
#include "rowstore/store/message_counts.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

using Microseconds = std::vector<std::int64_t>;

Duration rounded(double microseconds) {
    return std::chrono::round<Duration>(std::chrono::duration<double, std::micro>(microseconds));
}

// Like percentile_cont in SQL: interpolates between two values.
Duration percentile(const Microseconds& sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const auto low = static_cast<double>(sorted[below]);
    const auto high = static_cast<double>(sorted[above]);
    return rounded(low + (high - low) * (place - static_cast<double>(below)));
}

// The start of the part of the window in which all ended runs are counted; none if that is the
// whole window.
std::optional<Timestamp> find_cut(
    Session& session, QueueId workflow, Timestamp from, Timestamp now
) {
    std::optional<Timestamp> cut;
    for (const store::Statement* statement : {&sql::success_cut, &sql::failed_cut}) {
        Rows rows = session.query(*statement, workflow, from, now, model::rules::count_limit);
        if (rows.next() && (!cut || rows.time(0) > *cut)) cut = rows.time(0);
    }
    return cut;
}

void read_ended(Session& session, QueueId workflow, Timestamp now, WorkflowMetrics& metrics) {
    Microseconds durations;
    const Timestamp from = now - metrics.window;
    const auto cut = find_cut(session, workflow, from, now);
    for (Count* count : {&metrics.succeeded, &metrics.failed, &metrics.cancelled})
        count->exact = !cut;
    using Row = sql::row::EndedRuns;
    Rows rows = session.query(sql::ended_runs, workflow, cut.value_or(from), now);
    while (rows.next()) {
        const RunStatus status = to_run_status(rows.text(Row::status));
        if (status == RunStatus::success) {
            ++metrics.succeeded.value;
            if (!rows.null(Row::duration_us)) durations.push_back(rows.integer(Row::duration_us));
        } else if (status == RunStatus::error) {
            ++metrics.failed.value;
        } else {
            ++metrics.cancelled.value;
        }
    }
    model::derive_rates(metrics, std::chrono::duration_cast<Duration>(now - cut.value_or(from)));
    if (durations.empty()) return;
    std::ranges::sort(durations);
    const double sum = std::accumulate(durations.begin(), durations.end(), 0.0);
    metrics.average_duration = rounded(sum / static_cast<double>(durations.size()));
    metrics.p50_duration = percentile(durations, 0.5);
    metrics.p95_duration = percentile(durations, 0.95);
    metrics.p99_duration = percentile(durations, 0.99);
}

void read_depth(Session& session, QueueId workflow, Timestamp now, WorkflowMetrics& metrics) {
    const QueueStats queue = count_messages(session, workflow, now, 0);
    metrics.queue_depth = queue.ready;
    metrics.in_flight = queue.leased;
    metrics.waiting = queue.waiting;
    metrics.oldest_waiting = queue.oldest_ready_age;
}

}  // namespace

WorkflowMetrics RowStore::workflow_metrics(const std::string& name, Duration window) {
    return read([&](Session& session) {
        const QueueId workflow = require_workflow(session, name).id;
        const Timestamp now = current_time(session);
        WorkflowMetrics metrics;
        metrics.workflow = name;
        metrics.window = window;
        read_ended(session, workflow, now, metrics);
        read_depth(session, workflow, now, metrics);
        return metrics;
    });
}

}  // namespace pawl::rowstore
