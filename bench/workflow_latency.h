// The time from the trigger until a process other than the worker sees SUCCESS, on an otherwise
// idle system.
#pragma once

#include <string>

#include "report.h"
#include "workflow_bench.h"
#include "workflow_site.h"

namespace bench {

void latency(WorkflowSiteFactory open, const WorkflowOptions& options, Report& report);

// The first argument of the child process, followed by the backend, the site's name, and pawl or
// bare.
inline const std::string latency_child_word = "latency-worker";
[[noreturn]] void latency_child(
    WorkflowSiteFactory open, const std::string& site_name, const std::string& who
);

}  // namespace bench
