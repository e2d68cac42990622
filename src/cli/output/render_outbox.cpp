// The JSON of events.
#include "cli/output/render.h"
#include "cli/output/render_object.h"

namespace pawl::cli {

std::string to_json(const OutboxEvent& event) {
    const Object object{
        {"id", event.id},
        {"event_id", event.event_id},
        {"type", event.type},
        {"aggregate", or_null(event.aggregate)},
        {"subject", or_null(event.subject)},
        {"traceparent", or_null(event.traceparent)},
        {"run_id", or_null(event.run)},
        {"status", to_string(event.status)},
        {"attempts", event.attempts},
        {"last_error", or_null(event.last_error)},
        {"created_at", rfc3339(event.created_at)},
        {"visible_at", or_null(event.visible_at)},
        {"published_at", or_null(event.published_at)},
    };
    return with_field(dump(object), "payload", event.payload.text);
}

}  // namespace pawl::cli
