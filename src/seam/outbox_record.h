// A new event on its way into the outbox.
#pragma once

#include "seam/write.h"

namespace pawl::seam {

// Checks it, gives it its id, and the aggregate as its subject where it names none.
[[nodiscard]] OutboxRecord new_outbox_record(
    NewOutboxEvent event, std::size_t max_payload_bytes, RunId run = {}
);

}  // namespace pawl::seam
