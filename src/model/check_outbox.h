// Checks of outbox events and of the dispatcher's options; see check.h.
#pragma once

#include <cstddef>
#include <pawl/outbox.h>

namespace pawl::model {

void check_outbox_event(const NewOutboxEvent& event, std::size_t max_payload_bytes);
void check_outbox_filter(const OutboxFilter& filter);
void check_dispatcher_options(const DispatcherOptions& options);

}  // namespace pawl::model
