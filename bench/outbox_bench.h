#pragma once

#include "report.h"

namespace bench {

struct OutboxBenchOptions {
    int rounds = 5;
    int events = 20'000;  // per round
    int published = 200'000;
    bool postgres = true;
    bool sqlite = true;
};

void outbox_bench(const OutboxBenchOptions& options, Report& report);

}  // namespace bench
