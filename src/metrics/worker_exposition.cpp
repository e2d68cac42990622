#include "metrics/worker_exposition.h"

#include <prometheus/metric_family.h>

namespace pawl::metrics {

using runtime::Ending;
using runtime::HandlerMeters;

namespace {

constexpr double second = 1'000'000;  // microseconds
constexpr double each = 1;

struct NamedEnding {
    Ending ending;
    const char* name;
};
constexpr NamedEnding success{Ending::success, "success"};
constexpr NamedEnding error{Ending::error, "error"};
constexpr NamedEnding cancelled{Ending::cancelled, "cancelled"};
constexpr NamedEnding delegated{Ending::delegated, "delegated"};
constexpr NamedEnding released{Ending::released, "released"};

// The possible outcomes of each kind.
std::vector<NamedEnding> endings_of(HandlerMeters::Kind kind) {
    switch (kind) {
        case HandlerMeters::Kind::runs:
            return {success, error, cancelled};
        case HandlerMeters::Kind::tasks:
            return {success, error, cancelled, delegated, released};
        case HandlerMeters::Kind::messages:
            break;
    }
    return {success, error, released};
}

// The label for the handler's name, and the value of the label `kind`.
struct Words {
    const char* label;
    const char* kind;
};
Words words_of(HandlerMeters::Kind kind) {
    switch (kind) {
        case HandlerMeters::Kind::runs:
            return {"workflow", "run"};
        case HandlerMeters::Kind::tasks:
            return {"flow", "task"};
        case HandlerMeters::Kind::messages:
            break;
    }
    return {"queue", "message"};
}

std::vector<std::string> handled_queues(const WorkerOptions& options) {
    std::vector<std::string> names;
    for (const HandlerSpec& spec : options.handlers) names.push_back(spec.queue);
    return names;
}

double in_seconds(const std::optional<Duration>& time) {
    return time ? std::chrono::duration<double>(*time).count() : 0;
}

}  // namespace

WorkerFamilies::WorkerFamilies(
    const WorkerOptions& options,
    std::shared_ptr<const runtime::WorkerMeters> meters,
    std::shared_ptr<seam::Backend> backend
)
    : worker_(options.name),
      concurrency_(options.concurrency),
      dispatches_(static_cast<bool>(options.outbox_sink)),
      meters_(std::move(meters)),
      sampler_(std::make_unique<StoreSampler>(
          std::move(backend), handled_queues(options), options.metrics->refresh
      )) {}

std::vector<prometheus::MetricFamily> WorkerFamilies::Collect() const {
    Families families({{"worker", worker_}});
    add_endings(families);
    add_steps(families);
    add_setbacks(families);
    add_durations(families);
    add_database(families);
    if (dispatches_) add_outbox(families);
    add_worker(families);
    add_store(families);
    return std::move(families).take();
}

void WorkerFamilies::add_endings(Families& families) const {
    add_endings_of(
        families, Kind::runs, {"pawl_runs_total", "Runs that ended while this worker held them."}
    );
    add_endings_of(
        families, Kind::tasks, {"pawl_tasks_total", "Tasks of flows that this worker has finished."}
    );
    add_endings_of(
        families, Kind::messages, {"pawl_messages_total", "Messages that this worker has finished."}
    );
}

void WorkerFamilies::add_endings_of(Families& families, Kind kind, const Described& what) const {
    families.counters(what);
    for (const auto& handler : meters_->handlers) {
        if (handler->kind != kind) continue;
        for (const NamedEnding& named : endings_of(kind))
            families.counter(
                {{words_of(kind).label, handler->name}, {"outcome", named.name}},
                handler->endings[static_cast<std::size_t>(named.ending)]
            );
    }
}

void WorkerFamilies::add_steps(Families& families) const {
    families.counters({"pawl_steps_total", "Steps that were executed and recorded."});
    for (const auto& handler : meters_->handlers) {
        if (handler->kind != Kind::runs) continue;
        families.counter(
            {{"workflow", handler->name}, {"outcome", "success"}}, handler->steps_succeeded
        );
        families.counter(
            {{"workflow", handler->name}, {"outcome", "error"}}, handler->steps_failed
        );
    }
}

void WorkerFamilies::add_setbacks(Families& families) const {
    families.counters({"pawl_retries_total", "Executions that failed and will be repeated."});
    for (const auto& handler : meters_->handlers) {
        families.counter(
            {{"queue", handler->name}, {"kind", words_of(handler->kind).kind}}, handler->retries
        );
        if (handler->kind == Kind::runs)
            families.counter({{"queue", handler->name}, {"kind", "step"}}, handler->step_retries);
    }
    families.counters(
        {"pawl_lease_losses_total",
         "Executions whose result was not recorded because the lease had ended."}
    );
    for (const auto& handler : meters_->handlers)
        families.counter({{"queue", handler->name}}, handler->lease_losses);
}

void WorkerFamilies::add_durations(Families& families) const {
    add_durations_of(
        families,
        Kind::runs,
        {"pawl_run_duration_seconds", "From a run's first start to its end, waits included."}
    );
    families.histograms({"pawl_step_duration_seconds", "Duration of the bodies of recorded steps."}
    );
    for (const auto& handler : meters_->handlers) {
        if (handler->kind == Kind::runs)
            families.histogram({{"workflow", handler->name}}, handler->step_duration, second);
    }
    add_durations_of(
        families, Kind::tasks, {"pawl_task_duration_seconds", "Duration of the handlers of tasks."}
    );
    add_durations_of(
        families,
        Kind::messages,
        {"pawl_message_duration_seconds",
         "Duration of the calls of message handlers; a batch is one call."}
    );
}

void WorkerFamilies::add_durations_of(Families& families, Kind kind, const Described& what) const {
    families.histograms(what);
    for (const auto& handler : meters_->handlers) {
        if (handler->kind == kind)
            families.histogram({{words_of(kind).label, handler->name}}, handler->duration, second);
    }
}

void WorkerFamilies::add_database(Families& families) const {
    families.histograms({"pawl_claim_duration_seconds", "Duration of claims."});
    families.histogram({}, meters_->claim_duration, second);
    families.histograms({"pawl_claim_messages", "Messages returned by one claim."});
    families.histogram({}, meters_->claim_size, each);
    families.histograms({"pawl_commit_duration_seconds", "Duration of commits."});
    families.histogram({}, meters_->commit_duration, second);
    families.histograms({"pawl_commit_writes", "Writes in one commit."});
    families.histogram({}, meters_->commit_size, each);
    families.counters({"pawl_database_errors_total", "Claims and commits that failed."});
    families.counter({{"operation", "claim"}}, meters_->claim_errors);
    families.counter({{"operation", "commit"}}, meters_->commit_errors);
}

void WorkerFamilies::add_outbox(Families& families) const {
    families.counters({"pawl_outbox_events_total", "Deliveries of events to the sink."});
    families.counter({{"outcome", "published"}}, meters_->events_published);
    families.counter({{"outcome", "retry"}}, meters_->events_retried);
    families.counter({{"outcome", "parked"}}, meters_->events_parked);
    families.histograms(
        {"pawl_outbox_delivery_duration_seconds", "Duration of the sink's deliveries."}
    );
    families.histogram({}, meters_->delivery_duration, second);
}

void WorkerFamilies::add_worker(Families& families) const {
    families.gauges({"pawl_worker_executing", "Handlers that are executing."});
    families.gauge({}, meters_->executing);
    families.gauges(
        {"pawl_worker_concurrency", "Maximum number of handlers that execute at the same time."}
    );
    families.gauge({}, concurrency_);
}

// No value if the store does not answer: an old one would look valid.
void WorkerFamilies::add_store(Families& families) const {
    const auto backlog = sampler_->sample();
    families.gauges({"pawl_store_up", "1 while the store answers, else 0."});
    families.gauge({}, backlog ? 1 : 0);
    if (!backlog) return;
    add_queues(families, *backlog);
    families.gauges(
        {"pawl_outbox_lag_seconds",
         "Age of the oldest event that is due for delivery; 0 if none is due."}
    );
    families.gauge({}, in_seconds(backlog->outbox_lag));
    families.gauges({"pawl_store_workers", "Workers of the whole store that have not stopped."});
    families.gauge({{"state", "live"}}, static_cast<double>(backlog->workers_live));
    families.gauge({{"state", "lost"}}, static_cast<double>(backlog->workers_lost));
}

void WorkerFamilies::add_queues(Families& families, const seam::Backlog& backlog) {
    const auto for_each_count = [&](const auto& add) {
        for (const QueueStats& queue : backlog.queues) {
            add(Labels{{"queue", queue.queue}, {"state", "ready"}}, queue.ready);
            add(Labels{{"queue", queue.queue}, {"state", "waiting"}}, queue.waiting);
            add(Labels{{"queue", queue.queue}, {"state", "leased"}}, queue.leased);
            add(Labels{{"queue", queue.queue}, {"state", "dead"}}, queue.dead);
        }
    };
    families.gauges(
        {"pawl_queue_messages",
         "Messages in the queues that this worker handles, counted up to 10000."}
    );
    for_each_count([&](const Labels& labels, const Count& count) {
        families.gauge(labels, static_cast<double>(count.value));
    });
    families.gauges(
        {"pawl_queue_messages_at_least",
         "1 if pawl_queue_messages is a lower bound, because there are more; else 0."}
    );
    for_each_count([&](const Labels& labels, const Count& count) {
        families.gauge(labels, count.exact ? 0 : 1);
    });
    families.gauges(
        {"pawl_queue_oldest_ready_seconds",
         "How long the oldest ready message has been ready; 0 if none is ready."}
    );
    for (const QueueStats& queue : backlog.queues)
        families.gauge({{"queue", queue.queue}}, in_seconds(queue.oldest_ready_age));
}

}  // namespace pawl::metrics
