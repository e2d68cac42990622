// The state that the parts of one write transaction share.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rowstore/commit/fences.h"
#include "rowstore/commit/pending_wakeups.h"
#include "rowstore/flow/flow_plans.h"
#include "rowstore/run/message_ids.h"
#include "rowstore/session.h"

namespace pawl::rowstore {

struct WriteScope {
    WriteScope(Session& on, Timestamp at, FlowPlans& plans) : session(on), now(at), flows(plans) {
        flows.begin_transaction();
    }
    WriteScope(const WriteScope&) = delete;
    WriteScope& operator=(const WriteScope&) = delete;

    Session& session;
    const Timestamp now;
    const std::chrono::steady_clock::time_point now_steady = std::chrono::steady_clock::now();
    FlowPlans& flows;
    Fences fences;           // of the batch that is committed, if they were prefetched
    MessageIds message_ids;  // of the runs to be created, if they were reserved
    PendingWakeups wakeups;  // sent after the commit
    std::map<std::pair<RunId, int>, int> map_progress;  // tasks done per step: settle_maps()
    std::vector<RunId> ended;       // runs whose callers do not have the result yet: see calls.h
    std::optional<bool> has_calls;  // none until it was looked up
};

}  // namespace pawl::rowstore
