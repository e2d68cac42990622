// The outbox events that runs publish by themselves, where their workflow asks for it. Mostly none
// does: then all it costs is one look per transaction.
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

    // The run has its end. `alert`: the type of what pawl itself ended it for, or "".
    void ended(RunId run, std::string_view alert = {});
    // Whether this suspension is a pause to report; asked before it is recorded. Re-checks of a
    // pause, and sleeps, are not reported.
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
