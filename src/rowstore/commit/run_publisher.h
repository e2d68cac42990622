// The outbox events that runs publish automatically, if their workflow is configured so. If no
// workflow is, this costs one lookup per transaction.
#pragma once

#include <optional>
#include <pawl/run.h>
#include <string_view>

#include "rowstore/commit/pending_wakeups.h"
#include "rowstore/session.h"
#include "seam/write.h"

namespace pawl::rowstore {

[[nodiscard]] inline RunId run_of(const Lease& lease) {
    return RunId(lease.message.value());
}

class RunPublisher {
public:
    RunPublisher(Session& session, Timestamp now, PendingWakeups& wakeups)
        : session_(session), now_(now), wakeups_(wakeups) {}

    // Publishes the end of a run. `alert` is the event type if pawl itself ended the run, else "".
    void ended(RunId run, std::string_view alert = {});
    // Whether this suspension is a new pause; call it before the suspension is recorded. Re-checks
    // of a pause, and sleeps, are not reported as pauses.
    [[nodiscard]] bool is_new_pause(RunId run, const seam::Suspend& suspend);
    void paused(RunId run, const seam::Suspend& suspend);
    void publish(const seam::OutboxRecord& record);

private:
    [[nodiscard]] bool asked_for();
    void add(RunId run, std::string_view type, std::string payload);

    Session& session_;
    const Timestamp now_;
    PendingWakeups& wakeups_;
    std::optional<bool> asked_for_;
};

}  // namespace pawl::rowstore
