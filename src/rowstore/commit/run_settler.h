// Writes of runs inside a write transaction: reports of their holders, and ends caused by others.
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

    // For the holder: writes nothing if the lease is lost.
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
    // The reason why a write found no lease; none if the write is not about a run.
    [[nodiscard]] std::optional<seam::WriteStatus> explain(
        const seam::Write& write, seam::Attempt attempt
    );

    // Ends a live run, also of a flow, without a lease: ERROR, with `why` as the type of the error
    // and as the event, or CANCELLED.
    void fail(const RunState& run, model::EventKind why, const std::string& message);
    void cancel(const RunState& run, const std::string& reason);

private:
    struct Holder {
        WorkerId worker;
        QueueId workflow;
    };
    [[nodiscard]] std::optional<Holder> find_holder(const Lease& lease);
    // Writes the step and checks the fence in one statement. False if the lease is lost, or if the
    // step already has a row.
    bool record_result(const Lease& lease, const seam::StepWrite& step);
    // False if the step already has its result.
    bool record(const Lease& lease, const seam::StepWrite& step, WorkerId worker);
    // Calls `send` with the parameters of the statement record_step.
    template <class Send>
    auto send_step(const Lease& lease, const seam::StepWrite& step, WorkerId worker, Send send);
    // Deletes the message. Returns the worker if the run's row does not have it.
    [[nodiscard]] std::optional<WorkerId> end_lease(const seam::Write& write);
    // Records the step of a suspension; a sleep may end when the suspension ends.
    bool record(const Lease& lease, const seam::Suspend& suspend, WorkerId worker);
    bool record_resumed(const Lease& lease, const seam::StepWrite& paused, WorkerId worker);
    // Returns when the run continues; none means now, because its step has a result.
    [[nodiscard]] std::optional<Timestamp> record_wait(
        const Lease& lease, const seam::Suspend& suspend, WorkerId worker
    );
    [[nodiscard]] std::optional<Timestamp> record_call(
        const Lease& lease, const seam::Suspend& suspend, WorkerId worker
    );
    [[nodiscard]] Timestamp limit_pause(RunId run, Timestamp until);
    // The effects of an end as ERROR or CANCELLED, in addition to deleting the message.
    struct End {
        RunStatus status = RunStatus::error;
        std::string_view error;  // JSON text
        int delivery = 0;
        WorkerId worker;
        std::string_view alert = {};  // the event type if pawl itself ended the run
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
