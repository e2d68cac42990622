// Counts the report of one execution when the store has answered.
#pragma once

#include "runtime/call.h"
#include "runtime/metrics/meters.h"

namespace pawl::runtime {

class MeteredReport {
public:
    // Constructed when the report is created, to measure the duration. A no-op unless metrics are
    // enabled.
    explicit MeteredReport(const Call& call);

    void committed(
        std::span<const seam::Write> writes, std::span<const seam::WriteOutcome> outcomes
    ) const;

private:
    void committed(const seam::Write& write, const seam::WriteOutcome& outcome) const;
    void done(const seam::Write& write) const;
    void ended(Ending ending) const;
    void failed_task(const seam::FailTask& failure) const;
    void checkpointed(const seam::StepWrite& step) const;

    HandlerMeters* meters_;
    std::chrono::microseconds took_{0};
    bool last_attempt_ = false;  // of a task
};

// Measures a call of a queue's handler, with all its messages, whatever their outcome.
class CallMeter {
public:
    explicit CallMeter(const Call& call) : call_(call) {}
    ~CallMeter();
    CallMeter(const CallMeter&) = delete;
    CallMeter& operator=(const CallMeter&) = delete;

private:
    const Call& call_;
};

// For a call whose lease was lost, so that nothing is reported.
void meter_lost(const Call& call);

}  // namespace pawl::runtime
