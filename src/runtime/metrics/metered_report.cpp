#include "runtime/metrics/metered_report.h"

namespace pawl::runtime {

using seam::StepWrite;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;
using std::chrono::microseconds;

MeteredReport::MeteredReport(const Call& call) : meters_(call.meters()) {
    if (meters_ == nullptr) return;
    took_ = call.time_taken();
    const seam::ClaimedTask* const task = call.claimed_task();
    last_attempt_ = task != nullptr && task->attempts >= task->max_attempts;
}

void MeteredReport::committed(std::span<const Write> writes, std::span<const WriteOutcome> outcomes)
    const {
    if (meters_ == nullptr) return;
    for (std::size_t i = 0; i < writes.size(); ++i) committed(writes[i], outcomes[i]);
}

void MeteredReport::committed(const Write& write, const WriteOutcome& outcome) const {
    switch (outcome.status) {
        case WriteStatus::done:
            return outcome.dead_letter ? ended(Ending::error) : done(write);
        case WriteStatus::cancelled:
            return meters_->endings[static_cast<std::size_t>(Ending::cancelled)].add();
        case WriteStatus::lease_lost:
            return meters_->lease_losses.add();
        case WriteStatus::busy:
        case WriteStatus::rejected:
            return;
    }
}

void MeteredReport::done(const Write& write) const {
    switch (write.kind()) {
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::complete_task:
            return ended(Ending::success);
        case WriteKind::bury:
            return ended(Ending::error);
        case WriteKind::finish:
            return ended(
                write.as<seam::Finish>().status == RunStatus::success ? Ending::success
                                                                      : Ending::error
            );
        case WriteKind::release:
            return ended(Ending::released);
        case WriteKind::delegate_task:
            return ended(Ending::delegated);
        case WriteKind::fail:
            return meters_->retries.add();
        case WriteKind::fail_task:
            return failed_task(write.as<seam::FailTask>());
        case WriteKind::suspend:
            // Pauses and sleeps do not count as retries.
            if (write.as<seam::Suspend>().status == RunStatus::running)
                (seam::step_of(write) != nullptr ? meters_->step_retries : meters_->retries).add();
            return;
        case WriteKind::checkpoint:
            return checkpointed(*write.as<seam::Checkpoint>().step);
        case WriteKind::hand_back:
        case WriteKind::extend:
            return;
    }
}

// For messages the duration of the handler's call is measured, which may cover many messages.
void MeteredReport::ended(Ending ending) const {
    meters_->endings[static_cast<std::size_t>(ending)].add();
    if (meters_->kind != HandlerMeters::Kind::messages) meters_->duration.observe(took_);
}

void MeteredReport::failed_task(const seam::FailTask& failure) const {
    if (failure.permanent || last_attempt_) return ended(Ending::error);
    meters_->retries.add();
    meters_->duration.observe(took_);
}

// A checkpoint in a report comes from the watchdog: the step's body did not return.
void MeteredReport::checkpointed(const StepWrite& step) const {
    if (step.status != StepStatus::error) return;
    meters_->steps_failed.add();
    meters_->step_duration.observe(step.elapsed);
}

CallMeter::~CallMeter() {
    if (call_.meters() != nullptr) call_.meters()->duration.observe(call_.time_taken());
}

void meter_lost(const Call& call) {
    if (call.meters() == nullptr || call.reported) return;
    if (call.cancelled) {
        call.meters()->endings[static_cast<std::size_t>(Ending::cancelled)].add();
    } else if (!call.abandoned) {
        call.meters()->lease_losses.add();
    }
}

}  // namespace pawl::runtime
