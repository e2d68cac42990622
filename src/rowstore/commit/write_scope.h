// What the parts of one write transaction share while runs start, go on and end in it.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rowstore/commit/pending_wakeups.h"
#include "rowstore/flow/flow_plans.h"
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
    FlowPlans& flows;
    PendingWakeups wakeups;                             // for after the commit
    std::map<std::pair<RunId, int>, int> map_progress;  // tasks done of a step: see settle_maps()
    std::vector<RunId> ended;       // whose callers have not been told: see calls.h
    std::optional<bool> has_calls;  // once somebody has looked
};

}  // namespace pawl::rowstore
