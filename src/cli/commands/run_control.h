// The part of the run commands that changes something, in a file of its own.
#pragma once

#include "cli/frame/command.h"

namespace pawl::cli {

void add_run_control_commands(const Command& group);

}  // namespace pawl::cli
