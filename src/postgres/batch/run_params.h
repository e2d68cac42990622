// Writes of runs, as the parameters of their statements. `places` are the indexes of the writes
// meant.
#pragma once

#include <span>
#include <vector>

#include "postgres/driver/notifier.h"
#include "postgres/driver/params.h"
#include "seam/batch.h"

namespace pawl::postgres {

using Places = std::vector<std::size_t>;

// By run: that is what costs the server least.
void order_by_run(std::span<const seam::Write> writes, Places& places);
// The same for checkpoints, in parts that can be written one after the other: of two for one step
// the first counts, and a statement cannot write a row twice. RUNNING comes first.
[[nodiscard]] std::vector<Places> order_checkpoints(
    std::span<const seam::Write> writes, const Places& places
);

// The runs that the writes call, which all do.
[[nodiscard]] std::vector<const NewRun*> called_runs(
    std::span<const seam::Write> writes, const Places& places
);

[[nodiscard]] Params checkpoint_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt
);
[[nodiscard]] Params checkpoint_params(const seam::Write& write, seam::Attempt attempt);
[[nodiscard]] Params suspend_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt
);
// Of suspensions that wait for a run (Write::call).
[[nodiscard]] Params call_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params finish_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params finish_params(
    const seam::Write& write, seam::Attempt attempt, Wake wake
);  // a success

// The checkpoints that have an event for the outbox with them, and these events.
[[nodiscard]] Places with_events(std::span<const seam::Write> writes);
[[nodiscard]] Params event_params(std::span<const seam::Write> writes, const Places& places);
// The same for audit events, which suspensions and ends carry themselves.
[[nodiscard]] Places audited_checkpoints(std::span<const seam::Write> writes);
[[nodiscard]] Params step_event_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt
);

}  // namespace pawl::postgres
