// The wake-ups to send when a transaction is committed.
#pragma once

#include <algorithm>
#include <vector>

#include "seam/wake_topic.h"

namespace pawl::rowstore {

struct PendingWakeups {
    std::vector<seam::WakeTopic> topics;  // topics that may have new work
    std::vector<RunId> ended;
    std::vector<RunId> cancelled;  // runs that ended by cancellation: their holders are notified

    void add(const seam::WakeTopic& topic) {
        if (std::ranges::find(topics, topic) == topics.end()) topics.push_back(topic);
    }
};

}  // namespace pawl::rowstore
