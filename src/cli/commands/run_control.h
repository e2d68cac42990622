// The run commands that change something.
#pragma once

#include "cli/frame/command.h"

namespace pawl::cli {

void add_run_control_commands(const Command& group);

}  // namespace pawl::cli
