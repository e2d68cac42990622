// From the trigger until somebody in another process than the worker sees SUCCESS, on a system that
// does nothing else.
#pragma once

#include <string>

#include "report.h"
#include "workflow_bench.h"
#include "workflow_site.h"

namespace bench {

void latency(WorkflowSiteFactory open, const WorkflowOptions& options, Report& report);

// The other process, started with this word, the backend, the site's name, and pawl or bare.
inline const std::string latency_child_word = "latency-worker";
[[noreturn]] void latency_child(
    WorkflowSiteFactory open, const std::string& site_name, const std::string& who
);

}  // namespace bench
