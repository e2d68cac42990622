// Writes what becomes of runs, inside a write transaction: what their holders report, and how they
// are ended by others.
#pragma once

#include <optional>
#include <string_view>

#include "model/event_kinds.h"
#include "model/run_error.h"
#include "rowstore/commit/run_publisher.h"
#include "rowstore/commit/task_settler.h"
#include "rowstore/commit/write_scope.h"
#include "rowstore/run/run_lookup.h"
#include "seam/outcome.h"

namespace pawl::rowstore {

class RunSettler {
public:
    explicit RunSettler(WriteScope& scope)
        : scope_(scope),
          session_(scope.session),
          now_(scope.now),
          publisher_(scope.session, scope.now, scope.wakeups) {}

    // Of the holder: nothing is written where the lease is lost.
    Fence checkpoint(const seam::Write& write, const seam::Checkpoint& checkpoint);
    Fence suspend(const seam::Write& write, const seam::Suspend& suspend);
    Fence finish(const seam::Write& write, const seam::Finish& finish);
    // Sets an answered step back to PAUSED: see Backend::reject_resume().
    [[nodiscard]] seam::Rejection reject(
        const Lease& lease,
        const std::string& step,
        const std::string& message,
        Duration check_after
    );
    // Why a write found no lease; none where this is not a matter of runs.
    [[nodiscard]] std::optional<seam::WriteStatus> explain(
        const seam::Write& write, seam::Attempt attempt
    );

    // Ends a live run or flow run that no worker has to hold: ERROR, with `why` as the type of the
    // error and as the event, or CANCELLED.
    void fail(const RunState& run, model::EventKind why, const std::string& message);
    void cancel(const RunState& run, const std::string& reason);

private:
    struct Holder {
        WorkerId worker;
        QueueId workflow;
    };
    [[nodiscard]] std::optional<Holder> find_holder(const Lease& lease);
    // In one statement with the fence. False: the lease is lost, or the step has a row already.
    bool record_result(const Lease& lease, const seam::StepWrite& step);
    // False: the step has its result already.
    bool record(const Lease& lease, const seam::StepWrite& step, WorkerId worker);
    // The step of a suspension, whose sleep may end when the suspension does.
    bool record(const Lease& lease, const seam::Suspend& suspend, WorkerId worker);
    bool record_resumed(const Lease& lease, const seam::StepWrite& paused, WorkerId worker);
    // When the run continues; nothing: now, since its step has a result.
    [[nodiscard]] std::optional<Timestamp> record_wait(
        const Lease& lease, const seam::Suspend& suspend, WorkerId worker
    );
    [[nodiscard]] std::optional<Timestamp> record_call(
        const Lease& lease, const seam::Suspend& suspend, WorkerId worker
    );
    [[nodiscard]] Timestamp limit_pause(RunId run, Timestamp until);
    // All that an end as ERROR or CANCELLED takes besides the message.
    struct End {
        RunStatus status = RunStatus::error;
        std::string_view error;  // JSON text
        int delivery = 0;
        WorkerId worker;
        std::string_view alert = {};  // what pawl itself ended it for
    };
    void close(RunId run, const End& end);
    void add_event(const seam::Write& write, WorkerId worker);
    [[nodiscard]] bool was_written(const seam::Write& write, const Rows& end);

    WriteScope& scope_;
    Session& session_;
    const Timestamp now_;
    RunPublisher publisher_;
};

}  // namespace pawl::rowstore
