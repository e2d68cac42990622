#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bare_flows.h"

namespace bench {

std::unique_ptr<TaskTaker> sqlite_bare_flows(const std::string& file, std::int64_t workflow_id);

}  // namespace bench
