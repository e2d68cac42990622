// The two parts of `pawl flow`.
#pragma once

#include "cli/frame/command.h"

namespace pawl::cli {

void add_flow_definition_commands(const Command& group);  // create, add-step, shape, ensure, ...
void add_flow_work_commands(const Command& group);        // start, poll, complete, fail, show

}  // namespace pawl::cli
