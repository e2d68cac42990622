// Assembles the services of a worker and tracks its status: claimer -> executor -> committer, with
// the heartbeat, two timers for the periodic services, and the outbox dispatcher.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/claimer.h"
#include "runtime/committer.h"
#include "runtime/executor.h"
#include "runtime/lease_table.h"
#include "runtime/metrics/metrics_endpoint.h"
#include "runtime/process_signals.h"
#include "runtime/services/heartbeat.h"
#include "runtime/services/lease_expiry.h"
#include "runtime/services/outbox_dispatcher.h"
#include "runtime/services/pruner.h"
#include "runtime/services/scheduler.h"
#include "runtime/services/service_timer.h"
#include "runtime/work_log.h"
#include "seam/engine.h"

namespace pawl::runtime {

class WorkerRuntime {
public:
    // Registers the worker, and opens its metrics endpoint if enabled. Throws queue_not_found,
    // workflow_not_found, flow_not_found, test_clock, invalid_argument, listen_failed.
    WorkerRuntime(
        std::shared_ptr<seam::Engine> backend, WorkerOptions options, const OpenMetrics& open
    );
    ~WorkerRuntime();
    WorkerRuntime(const WorkerRuntime&) = delete;
    WorkerRuntime& operator=(const WorkerRuntime&) = delete;

    [[nodiscard]] WorkerId id() const { return id_; }  // changes if the worker registers again
    [[nodiscard]] WorkerStatus status();
    [[nodiscard]] int metrics_port();
    void start();
    void poll_forever();
    int poll_once();
    StopReport stop(Duration deadline);
    void interrupt();
    void suspend();
    void resume();
    void handle_signals();

private:
    [[nodiscard]] seam::NewWorker description(Duration lease) const;
    [[nodiscard]] Duration shortest_lease(const std::vector<QueueInfo>& queues) const;
    // worker_registration.cpp: the worker's row in the store.
    [[nodiscard]] WorkerId register_with_store();
    // Drops every lease and registers under a new id. `missing` is the id that the store does not
    // know. A no-op if the worker has another id by now, or if it is stopping.
    void register_again(WorkerId missing, std::string_view why);
    WorkerStatus transition(WorkerEvent event);
    void pause_for(WorkerEvent event);
    void apply_stored_status(WorkerStatus stored);
    [[nodiscard]] bool has_news();
    void set_status(WorkerStatus status);
    void stop_taking();   // no messages, fire times of schedules or outbox events
    void prepare_beat();  // on the heartbeat's thread
    void hand_back_stale();
    void abandon_stuck_handlers();
    void log_start();
    void log_drain(Duration deadline);
    // Without a deadline. Logs the running handlers after `stuck_after`, then every 30 seconds.
    void wait_for_handlers(Duration stuck_after);
    [[nodiscard]] bool signal_arrived();
    void restore_signals();

    const std::shared_ptr<seam::Engine> backend_;
    const WorkerOptions options_;
    std::atomic<WorkerId> id_;
    seam::NewWorker description_;
    std::mutex registration_mutex_;
    seam::WorkerView view_;  // used by the heartbeat's thread only

    std::mutex mutex_;
    std::condition_variable_any changed_;
    WorkerStatus status_ = WorkerStatus::ready;
    std::atomic<int> status_changes_ = 0;
    int changes_before_beat_ = 0;  // used by the heartbeat's thread only
    std::atomic<bool> started_ = false;
    std::atomic<bool> stopping_ = false;
    bool stopped_ = false;
    std::shared_ptr<CaughtSignals> signals_;
    StopReport stop_report_;
    std::mutex poll_mutex_;
    std::mutex stop_mutex_;

    // Ordered by dependency; destroyed in reverse.
    std::shared_ptr<WorkerMeters> meters_;  // null unless metrics are enabled
    std::unique_ptr<MetricsEndpoint> endpoint_;
    std::unique_ptr<WorkLog> log_;
    ServiceTimer memory_services_;    // watchdog, expiry of leases
    ServiceTimer database_services_;  // scheduler, pruner
    LeaseTable leases_;
    std::unique_ptr<Committer> committer_;
    std::unique_ptr<Executor> executor_;
    std::unique_ptr<Claimer> claimer_;
    std::unique_ptr<Heartbeat> heartbeat_;
    std::unique_ptr<LeaseExpiry> expiry_;
    std::unique_ptr<Scheduler> scheduler_;          // only with housekeeping
    std::unique_ptr<Pruner> pruner_;                // only with housekeeping
    std::unique_ptr<OutboxDispatcher> dispatcher_;  // only with a sink
    std::unique_ptr<seam::RunWakeups::Observation> observation_;
};

}  // namespace pawl::runtime
