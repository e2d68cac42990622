// Checks of workflows, runs and steps before they reach a store; see check.h.
#pragma once

#include <cstddef>
#include <pawl/context.h>
#include <pawl/workflow.h>
#include <string_view>

namespace pawl::model {

void check_workflow_options(std::string_view name, const WorkflowOptions& options);
void check_new_run(const NewRun& run, std::size_t max_payload_bytes);
// 1 to max_bytes bytes of UTF-8 without zero bytes; `what` names the value in the error.
void check_text(std::string_view what, std::string_view text, std::size_t max_bytes);
void check_run_page(const RunPage& page);
// 1 to 255 bytes of UTF-8 without '#', which numbers repeated ids.
void check_step_id(std::string_view id);
// A step id as recorded, possibly with a number.
void check_recorded_step_id(std::string_view id);
void check_step_options(std::string_view id, const StepOptions& options, std::size_t max_bytes);
// The result of a step or a run; `what` names it in the error.
void check_output(std::string_view what, std::string_view json, std::size_t max_bytes);

}  // namespace pawl::model
