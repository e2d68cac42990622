#pragma once

#include "cli/frame/command.h"

namespace pawl::cli {

void add_dispatch_command(const Command& group);  // of pawl outbox

}  // namespace pawl::cli
