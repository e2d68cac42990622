#pragma once

#include <string>

#include "report.h"

namespace bench {

struct WorkflowOptions {
    int rounds = 5;
    int runs = 20'000;         // per drain; a multiple of 500
    int resumed_runs = 1'000;  // a multiple of 500
    int latency_runs = 100;    // per round
    bool postgres = true;
    bool sqlite = true;
    bool drain = true;
    bool end_to_end = true;
    bool latency = true;
    bool resume = true;
    bool metrics = true;
};

void workflow_bench(const WorkflowOptions& options, Report& report);

}  // namespace bench
