#include "runtime/run/run_publish.h"

#include <fmt/format.h>

#include "seam/outbox_record.h"

namespace pawl::runtime {

using seam::StepWrite;
using seam::Write;

void publish_event(
    RunExecution& run, const std::string& type, const Json& payload, const std::string& aggregate
) {
    run.enter();
    const RunId id = run.call().id();
    seam::OutboxRecord event = seam::new_outbox_record(
        {type, payload, aggregate.empty() ? fmt::format("run:{}", id.value()) : aggregate, {}, {}},
        run.backend().options().max_payload_bytes,
        id
    );
    const std::string step_id = run.step_log().next_id("publish:" + type);
    if (run.replayed(step_id)) return;
    StepWrite step = run.new_record(step_id);
    step.output = fmt::format("\"{}\"", event.event_id);
    Write write = run.checkpoint(std::move(step));
    write.as<seam::Checkpoint>().publish = std::move(event);
    run.record(write);
}

}  // namespace pawl::runtime
