// Creates the record of a new outbox event.
#pragma once

#include "seam/write.h"

namespace pawl::seam {

// Checks the event and assigns its id. The subject defaults to the aggregate.
[[nodiscard]] OutboxRecord new_outbox_record(
    NewOutboxEvent event, std::size_t max_payload_bytes, RunId run = {}
);

}  // namespace pawl::seam
