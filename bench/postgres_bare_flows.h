#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bare_flows.h"

namespace bench {

std::unique_ptr<TaskTaker> postgres_bare_flows(
    const std::string& url, const std::string& schema, std::int64_t workflow_id
);
// A worker as written in another language: poll_for_tasks and complete_tasks.
std::unique_ptr<TaskTaker> postgres_sql_worker(const std::string& url, const std::string& schema);

}  // namespace bench
