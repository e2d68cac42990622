// What workflows, runs and steps are checked for before they reach a store; see check.h.
#pragma once

#include <cstddef>
#include <pawl/context.h>
#include <pawl/workflow.h>
#include <string_view>

namespace pawl::model {

void check_workflow_options(std::string_view name, const WorkflowOptions& options);
void check_new_run(const NewRun& run, std::size_t max_payload_bytes);
// 1 to max_bytes bytes of UTF-8 without a zero byte; `what` names it in the error.
void check_text(std::string_view what, std::string_view text, std::size_t max_bytes);
void check_run_page(const RunPage& page);
// 1 to 255 bytes of UTF-8 without '#', which numbers the uses of one id.
void check_step_id(std::string_view id);
// As it is recorded: maybe with the number of its use.
void check_recorded_step_id(std::string_view id);
void check_step_options(std::string_view id, const StepOptions& options, std::size_t max_bytes);
// What a step or a run gives as its result; `what` names it in the error.
void check_output(std::string_view what, std::string_view json, std::size_t max_bytes);

}  // namespace pawl::model
