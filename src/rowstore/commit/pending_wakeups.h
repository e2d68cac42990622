// Whom a transaction has to wake, once it is committed.
#pragma once

#include <algorithm>
#include <pawl/types.h>
#include <vector>

namespace pawl::rowstore {

struct PendingWakeups {
    std::vector<QueueId> queues;  // there may be something to do that was not there before
    std::vector<RunId> ended;
    std::vector<RunId> cancelled;  // ended too: whoever works on it is to be told

    void add(QueueId queue) {
        if (std::ranges::find(queues, queue) == queues.end()) queues.push_back(queue);
    }
};

}  // namespace pawl::rowstore
