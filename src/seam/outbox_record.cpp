#include "seam/outbox_record.h"

#include "base/random.h"
#include "model/check_outbox.h"

namespace pawl::seam {

OutboxRecord new_outbox_record(NewOutboxEvent event, std::size_t max_payload_bytes, RunId run) {
    model::check_outbox_event(event, max_payload_bytes);
    if (event.subject.empty()) event.subject = event.aggregate;
    return {base::random_uuid(), std::move(event), run};
}

}  // namespace pawl::seam
