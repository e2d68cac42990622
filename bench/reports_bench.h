#pragma once

#include "report.h"

namespace bench {

struct ReportsOptions {
    int rounds = 5;
    int runs = 1'000'000;  // in 25 workflows; as many archived messages, a fifth as many live ones
    bool postgres = true;
    bool sqlite = true;
};

// The duration of lists, counts, stats and a scrape in a large store with 225 queues.
void reports_bench(const ReportsOptions& options, Report& report);

}  // namespace bench
