#include "runtime/run/run_calls.h"

#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::runtime {

using model::Thrown;
using seam::StepWrite;
using seam::Suspend;

Json RunCalls::call(const std::string& name, const NewRun& run) {
    run_.enter();
    if (run.options.idempotency_key)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "call '{}': remove the trigger's idempotency key; a call creates its run once "
                "without it",
                name
            )
        );
    model::check_new_run(run, run_.backend().options().max_payload_bytes);
    const std::string id = run_.step_log().next_id(name);
    if (auto result = run_.replayed(id)) return std::move(*result);
    StepWrite record = run_.new_record(id);
    // Checked here because the store would reject the call on every retry.
    const auto found =
        engine::retrying(run_.backend(), [&] { return run_.backend().workflows(run.workflow); });
    const auto fail = [&](const char* type, std::string_view text) {
        const std::string what = fmt::format(fmt::runtime(text), run.workflow, run.workflow);
        steps_.fail_step(std::move(record), {}, {Thrown::Kind::permanent, type, what, {}, {}});
    };
    if (found.empty()) fail("workflow_not_found", model::texts::workflow_missing);
    if (run.flow && !found.front().is_flow) fail("flow_not_found", model::texts::flow_missing);
    wait_for(std::move(record), run);
}

// The run is created once: a replay that finds the step still waiting gets here again, and the
// store keeps the run that the step already waits for.
void RunCalls::wait_for(StepWrite step, const NewRun& run) {
    Suspend waits = run_.suspension_for(RunStatus::paused, model::rules::until_called);
    waits.call = run;
    waits.call->options.parent = run_.call().id();
    --step.attempt;
    step.status = StepStatus::paused;
    step.pause_message = fmt::format(model::texts::waits_for_workflow, run.workflow);
    run_.suspend_at_step(std::move(waits), std::move(step));
}

}  // namespace pawl::runtime
