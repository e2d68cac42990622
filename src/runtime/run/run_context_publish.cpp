// ctx.publish: an event that goes into the outbox with the step that stands for it.
#include <fmt/format.h>

#include "runtime/run/run_context.h"
#include "seam/outbox_record.h"

namespace pawl::runtime {

using seam::StepWrite;
using seam::Write;

void RunContext::publish(
    const std::string& type, const Json& payload, const std::string& aggregate
) {
    enter();
    const RunId run = call_.id();
    seam::OutboxRecord event = seam::new_outbox_record(
        {type, payload, aggregate.empty() ? fmt::format("run:{}", run.value()) : aggregate, {}, {}},
        backend_.options().max_payload_bytes,
        run
    );
    const std::string id = log_.next_id("publish:" + type);
    if (replayed(id)) return;
    StepWrite step = new_record(id);
    step.output = fmt::format("\"{}\"", event.event_id);
    Write write = checkpoint(std::move(step));
    write.as<seam::Checkpoint>().publish = std::move(event);
    record(write);
}

}  // namespace pawl::runtime
