// The worker's row in the store: registration, and registration again if the row is gone.
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "runtime/worker_runtime.h"

namespace pawl::runtime {

namespace {

// The event that changes a new row, which is READY, to the worker's status.
std::optional<WorkerEvent> event_to(WorkerStatus status) {
    switch (status) {
        case WorkerStatus::polling:
            return WorkerEvent::start_polling;
        case WorkerStatus::suspended:
            return WorkerEvent::suspend;
        case WorkerStatus::ready:
        case WorkerStatus::interrupted:
        case WorkerStatus::stopped:
            break;
    }
    return std::nullopt;
}

}  // namespace

// A registration whose answer was lost is repeated too: an unused row becomes lost and does no
// harm.
WorkerId WorkerRuntime::register_with_store() {
    engine::Retry retry(*backend_);
    while (true) {
        try {
            return backend_->register_worker(description_);
        } catch (const Error& error) {
            if (!error.retryable() || !retry.wait(error)) throw;
        }
    }
}

// The store may have been restored: another process may hold the same deliveries. So nothing is
// reported and nothing is handed back.
void WorkerRuntime::register_again(WorkerId missing, std::string_view why) {
    const std::lock_guard only_one(registration_mutex_);
    if (id_.load() != missing) return;
    const std::size_t dropped = leases_.drop_all();
    const WorkerStatus before = status();
    const bool ending = before == WorkerStatus::stopped || before == WorkerStatus::interrupted;
    if (ending || stopping_) return;
    const WorkerId id = backend_->register_worker(description_);
    if (const auto event = event_to(before)) backend_->transition_worker(id, *event);
    id_ = id;
    log_->write(
        LogLevel::warning,
        fmt::format(
            "registered again as a new worker, dropped {} leases; worker {} is invalid: {}",
            dropped,
            missing.value(),
            why
        )
    );
}

// Of the events only start_polling is idempotent and repeated if its answer was lost.
WorkerStatus WorkerRuntime::transition(WorkerEvent event) {
    engine::Retry retry(*backend_);
    while (true) {
        const WorkerId id = id_;
        try {
            const WorkerStatus status = backend_->transition_worker(id, event);
            set_status(status);
            return status;
        } catch (const Error& error) {
            if (error.code() == ErrorCode::worker_not_found) {
                register_again(id, "its row is gone");
                if (id_.load() == id) throw;
                continue;
            }
            const bool repeat =
                error.retryable() && (!error.in_doubt() || event == WorkerEvent::start_polling);
            if (!repeat || !retry.wait(error)) throw;
        }
    }
}

}  // namespace pawl::runtime
