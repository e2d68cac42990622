// Calls of other workflows and flows: the run waits, without a thread, for the end of another run.
#include <fmt/format.h>

#include "engine/reconnect.h"
#include "model/check_run.h"
#include "runtime/run/run_context.h"
#include "runtime/run/run_ends.h"

namespace pawl::runtime {

using model::Thrown;
using seam::StepRecord;
using seam::Write;

namespace {

// The end of the other run makes this one visible; nothing else has to.
constexpr Duration until_called = std::chrono::hours(24) * 36'525;

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
    StepRecord record = new_record(id);
    // The store would refuse to make the run, again and again.
    if (engine::retrying(backend_, [&] { return backend_.workflows(run.workflow); }).empty()) {
        const std::string what =
            fmt::format("workflow '{}' does not exist: create it first", run.workflow);
        fail_step(
            std::move(record), {}, {Thrown::Kind::permanent, "workflow_not_found", what, {}, {}}
        );
    }
    wait_for_call(std::move(record), run);
}

// The run is created once: a replay that finds the step still waiting gets here again, and the
// store keeps the run that the step already waits for.
void RunContext::wait_for_call(StepRecord record, const NewRun& run) {
    NewRun called = run;
    called.options.parent = RunId(executing_.messages.front().id.value());
    Write write = suspend_write(RunStatus::paused, until_called);
    write.call = std::make_shared<const NewRun>(std::move(called));
    --record.attempt;
    record.status = StepStatus::paused;
    record.pause_message = fmt::format("waits for a run of workflow '{}'", run.workflow);
    if (audits_all()) {
        write.event = "suspended";
        write.event_data = step_event_data(record);
    }
    write.step = std::move(record);
    suspend(std::move(write));
}

}  // namespace pawl::runtime
