// The wake-ups to send when a transaction is committed.
#pragma once

#include <algorithm>
#include <vector>

#include "seam/wake_topic.h"

namespace pawl::rowstore {

struct PendingWakeups {
    std::vector<seam::WakeTopic> topics;  // there may be new work
    std::vector<RunId> ended;
    std::vector<RunId> cancelled;  // ended too: their holders are notified

    void add(const seam::WakeTopic& topic) {
        if (std::ranges::find(topics, topic) == topics.end()) topics.push_back(topic);
    }
};

}  // namespace pawl::rowstore
