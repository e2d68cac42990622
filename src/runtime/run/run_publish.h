// ctx.publish: stores an event in the outbox together with its step.
#pragma once

#include "runtime/run/run_execution.h"

namespace pawl::runtime {

void publish_event(
    RunExecution& run, const std::string& type, const Json& payload, const std::string& aggregate
);

}  // namespace pawl::runtime
