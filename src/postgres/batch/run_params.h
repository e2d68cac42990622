// Converts writes of runs to parameters of their statements. `indexes` selects the writes.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "postgres/driver/notifier.h"
#include "postgres/driver/params.h"
#include "seam/outcome.h"

namespace pawl::postgres {

using Indexes = std::vector<std::size_t>;
using SteadyTime = std::chrono::steady_clock::time_point;

// Sorts by run, which is cheapest for the server.
void order_by_run(seam::Writes writes, Indexes& indexes);
// Splits checkpoints into parts that can be written one after the other: of two checkpoints for one
// step the first counts, and a statement cannot write a row twice. RUNNING comes first.
[[nodiscard]] std::vector<Indexes> order_checkpoints(seam::Writes writes, const Indexes& indexes);

// The runs that these writes call; each write must have one.
[[nodiscard]] std::vector<const NewRun*> called_runs(seam::Writes writes, const Indexes& indexes);

// `sent_at`: the server computes when a step's body began from the time since then, which includes
// the time that the write waited in the worker.
[[nodiscard]] Params checkpoint_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, SteadyTime sent_at
);
[[nodiscard]] Params checkpoint_params(
    const seam::Write& write, seam::Attempt attempt, SteadyTime sent_at
);
[[nodiscard]] Params suspend_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, SteadyTime sent_at
);
// For suspensions that wait for a run (Suspend::call).
[[nodiscard]] Params call_params(
    seam::Writes writes,
    const Indexes& indexes,
    seam::Attempt attempt,
    Wake wake,
    SteadyTime sent_at
);
[[nodiscard]] Params finish_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params finish_params(
    const seam::Write& write, seam::Attempt attempt, Wake wake
);  // a success

// The checkpoints with an event for the outbox, and the parameters for these events.
[[nodiscard]] Indexes publishing_checkpoints(seam::Writes writes);
[[nodiscard]] Params event_params(seam::Writes writes, const Indexes& indexes);
// The same for audit events. Suspensions and ends carry their own.
[[nodiscard]] Indexes audited_checkpoints(seam::Writes writes);
[[nodiscard]] Params step_event_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt
);

}  // namespace pawl::postgres
