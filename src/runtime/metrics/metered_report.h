// One execution's report to the store, as it is counted when the store has answered.
#pragma once

#include "runtime/call.h"
#include "runtime/metrics/meters.h"

namespace pawl::runtime {

class MeteredReport {
public:
    // Taken when the report is made: how long it took is measured then. Costs nothing where nobody
    // measures.
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

// The call of a queue's handler, with all its messages, whatever becomes of them.
class CallMeter {
public:
    explicit CallMeter(const Call& call) : call_(call) {}
    ~CallMeter();
    CallMeter(const CallMeter&) = delete;
    CallMeter& operator=(const CallMeter&) = delete;

private:
    const Call& call_;
};

// Nothing was reported: it was lost on the way.
void meter_lost(const Call& call);

}  // namespace pawl::runtime
