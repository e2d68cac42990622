// The worker's row in the store: how it gets one, and another one if it is gone.
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "runtime/worker_runtime.h"

namespace pawl::runtime {

namespace {

// The event that brings a new row, which is READY, to the worker's status.
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

// A lost answer is repeated too: a second row is shown as lost, and harms nothing.
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

// The store may be an older one: what this process holds may be held by another one now, under the
// same delivery. So nothing is reported, and nothing is given back.
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
            "registered again, dropped {} leases: worker {}: {}", dropped, missing.value(), why
        )
    );
}

// Starting twice is the same as once, so a lost answer to it is repeated.
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
