#pragma once

#include "report.h"

namespace bench {

struct FlowBenchOptions {
    int rounds = 5;
    int runs = 5'000;  // diamonds per drain; a multiple of 500
    int finished_runs = 1'000'000;
    int other_flows = 1'000;
    int other_steps = 50;  // steps of each
    int map_elements = 10'000;
    bool postgres = true;
    bool sqlite = true;
    bool drain = true;
    bool finished = true;
    bool steps = true;
    bool map = true;
};

void flow_bench(const FlowBenchOptions& options, Report& report);

}  // namespace bench
