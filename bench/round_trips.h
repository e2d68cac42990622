#pragma once

namespace bench {

// How often pawl's own connections of this process have sent something to a server and waited for
// the answer: each pipeline of theirs ends with one PQpipelineSync.
[[nodiscard]] double round_trips();

}  // namespace bench
