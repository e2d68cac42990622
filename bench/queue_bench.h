#pragma once

#include "report.h"

namespace bench {

struct Options {
    int rounds = 5;  // per drain
    int pairs = 9;   // per comparison with an empty store
    int scale = 1;   // divides the numbers of messages, for a quick run
    bool postgres = true;
    bool sqlite = true;
    bool drains = true;
    bool claims = true;
    bool idle = true;
};

void queue_bench(const Options& options, Report& report);

}  // namespace bench
