#pragma once

#include <memory>
#include <string>

#include "bare_runs.h"

namespace bench {

std::unique_ptr<BareRuns> postgres_bare_runs(
    const std::string& url, const std::string& schema, std::int64_t workflow_id
);

}  // namespace bench
