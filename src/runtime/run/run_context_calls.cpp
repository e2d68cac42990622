// Calls of other workflows and flows: the run waits, without a thread, for the end of another run.
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"
#include "runtime/run/run_context.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using model::Thrown;
using seam::StepWrite;
using seam::Suspend;

namespace {

// The end of the other run makes this one visible; nothing else has to.

}  // namespace

Json RunContext::call(const std::string& name, const NewRun& run) {
    enter();
    if (run.options.idempotency_key)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "call '{}': no idempotency key can be given, each step calls a run of its own", name
            )
        );
    model::check_new_run(run, backend_.options().max_payload_bytes);
    const std::string id = log_.next_id(name);
    if (auto result = replayed(id)) return std::move(*result);
    StepWrite record = new_record(id);
    // The store would refuse to make the run, again and again.
    if (engine::retrying(backend_, [&] { return backend_.workflows(run.workflow); }).empty()) {
        const std::string what = fmt::format(model::texts::workflow_missing, run.workflow);
        fail_step(
            std::move(record), {}, {Thrown::Kind::permanent, "workflow_not_found", what, {}, {}}
        );
    }
    wait_for_call(std::move(record), run);
}

// The run is created once: a replay that finds the step still waiting gets here again, and the
// store keeps the run that the step already waits for.
void RunContext::wait_for_call(StepWrite step, const NewRun& run) {
    Suspend waits = suspension_for(RunStatus::paused, model::rules::until_called);
    waits.call = run;
    waits.call->options.parent = call_.id();
    --step.attempt;
    step.status = StepStatus::paused;
    step.pause_message = fmt::format(model::texts::waits_for_workflow, run.workflow);
    suspend_at_step(std::move(waits), std::move(step));
}

}  // namespace pawl::runtime
