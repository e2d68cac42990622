#include "runtime/metrics/metered_report.h"

namespace pawl::runtime {

using seam::StepRecord;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;
using std::chrono::microseconds;

namespace {

// A run's time began with its first start, by the database's clock; from the claim on ours counts.
microseconds time_taken(const Executing& executing) {
    const auto now = Executing::Clock::now();
    if (!executing.run)
        return std::chrono::duration_cast<microseconds>(now - executing.started_at_steady);
    return executing.claimed_at - executing.run->started_at +
           std::chrono::duration_cast<microseconds>(now - executing.claimed_at_steady);
}

}  // namespace

MeteredReport::MeteredReport(const Executing& executing) : meters_(executing.meters) {
    if (meters_ == nullptr) return;
    took_ = time_taken(executing);
    last_attempt_ = executing.task && executing.task->attempts >= executing.task->max_attempts;
}

void MeteredReport::settled(std::span<const Write> writes, std::span<const WriteOutcome> outcomes)
    const {
    if (meters_ == nullptr) return;
    for (std::size_t i = 0; i < writes.size(); ++i) settled(writes[i], outcomes[i]);
}

void MeteredReport::settled(const Write& write, const WriteOutcome& outcome) const {
    switch (outcome.status) {
        case WriteStatus::done:
            return done(write);
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
    switch (write.kind) {
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::complete_task:
            return ended(Ending::success);
        case WriteKind::bury:
            return ended(Ending::error);
        case WriteKind::finish:
            return ended(write.status == RunStatus::success ? Ending::success : Ending::error);
        case WriteKind::release:
            return ended(Ending::released);
        case WriteKind::delegate_task:
            return ended(Ending::delegated);
        case WriteKind::fail:
            return meters_->retries.add();
        case WriteKind::fail_task:
            return failed_task(write);
        case WriteKind::suspend:
            // A pause or a sleep is no failure.
            if (write.status == RunStatus::running)
                (write.step ? meters_->step_retries : meters_->retries).add();
            return;
        case WriteKind::checkpoint:
            return checkpointed(*write.step);
        case WriteKind::hand_back:
        case WriteKind::extend:
            return;
    }
}

// Of messages the handler's call is measured, which may have many.
void MeteredReport::ended(Ending ending) const {
    meters_->endings[static_cast<std::size_t>(ending)].add();
    if (meters_->kind != HandlerMeters::Kind::messages) meters_->duration.observe(took_);
}

void MeteredReport::failed_task(const Write& write) const {
    if (write.permanent || last_attempt_) return ended(Ending::error);
    meters_->retries.add();
    meters_->duration.observe(took_);
}

// Of the watchdog: a step whose body did not return.
void MeteredReport::checkpointed(const StepRecord& step) const {
    if (step.status != StepStatus::error) return;
    meters_->steps_failed.add();
    meters_->step_duration.observe(step.elapsed);
}

CallMeter::~CallMeter() {
    if (executing_.meters != nullptr) executing_.meters->duration.observe(time_taken(executing_));
}

void meter_lost(const Executing& executing) {
    if (executing.meters == nullptr || executing.reported) return;
    if (executing.cancelled) {
        executing.meters->endings[static_cast<std::size_t>(Ending::cancelled)].add();
    } else if (!executing.abandoned) {
        executing.meters->lease_losses.add();
    }
}

}  // namespace pawl::runtime
