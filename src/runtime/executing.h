// One call of a handler: its messages, and what shall become of them.
#pragma once

#include <atomic>
#include <optional>
#include <pawl/worker.h>
#include <stop_token>
#include <vector>

#include "store/batch.h"

namespace pawl::runtime {

class LeaseTable;

struct Executing {
    const HandlerSpec* spec = nullptr;
    std::vector<Message> messages;
    LeaseTable* leases = nullptr;
    std::stop_source stop{};
    std::size_t leases_left = 0;  // guarded by the lease table
    // What the handler decided for single messages of its batch; the others are archived.
    std::vector<std::optional<store::Write>> decisions;
};

}  // namespace pawl::runtime
