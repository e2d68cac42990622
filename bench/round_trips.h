#pragma once

namespace bench {

// The number of round trips of pawl's connections in this process: each of their pipelines ends
// with one PQpipelineSync.
[[nodiscard]] double round_trips();

}  // namespace bench
