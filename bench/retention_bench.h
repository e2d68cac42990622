#pragma once

#include "report.h"

namespace bench {

struct RetentionOptions {
    int rounds = 5;
    int runs = 50'000;         // per drain; a multiple of 500
    int old_runs = 1'000'000;  // to be pruned
    int pruned_alone = 50'000;
    bool postgres = true;
    bool sqlite = true;
};

void retention_bench(const RetentionOptions& options, Report& report);

}  // namespace bench
