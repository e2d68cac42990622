#pragma once

#include <memory>
#include <string>

#include "bare_runs.h"

namespace bench {

std::unique_ptr<BareRuns> sqlite_bare_runs(const std::string& file, std::int64_t workflow_id);

}  // namespace bench
