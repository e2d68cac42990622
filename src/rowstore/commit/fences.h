// The leases and steps of a batch, each read as one set at the beginning of its transaction. Used
// only if round trips are costly; otherwise each write has its own fence.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "rowstore/session.h"
#include "seam/write.h"

namespace pawl::rowstore {

// The message of a lease that is held.
struct LeasedRow {
    WorkerId worker;
    QueueId queue;
    bool of_workflow = false;  // or of a flow
    RunId run;                 // this and the next two: for a task
    int step = 0;
    int task = 0;
    int attempts = 0;
    int max_attempts = 0;  // of its queue
};

class Fences {
public:
    Fences() = default;
    Fences(std::string leases, std::string steps)
        : leases_(std::move(leases)), steps_(std::move(steps)) {}

    [[nodiscard]] bool in_use() const { return !leases_.empty(); }
    // Null if the lease is lost.
    [[nodiscard]] const LeasedRow* find(Session& session, const Lease& lease);
    // Removes a lease that this transaction has settled.
    void end(const Lease& lease) { held_.erase(key_of(lease)); }
    // Reads the leases again: this transaction may have deleted messages.
    void forget() { read_ = false; }
    // Whether the statement record_step changes anything; the caller posts it.
    [[nodiscard]] bool record(Session& session, RunId run, const seam::StepWrite& step);

private:
    using Key = std::pair<std::int64_t, int>;
    [[nodiscard]] static Key key_of(const Lease& lease) {
        return {lease.message.value(), lease.delivery};
    }
    void read(Session& session);
    void read_steps(Session& session);

    std::string leases_;  // JSON arrays of pairs
    std::string steps_;
    bool read_ = false;
    bool steps_read_ = false;
    std::map<Key, LeasedRow> held_;
    std::map<std::pair<RunId, std::string>, std::string> statuses_;  // of the steps that have a row
};

// Announces the queries for the batch, so that the first request of its transaction carries them.
[[nodiscard]] Fences prefetch_fences(Session& session, seam::Writes writes);

}  // namespace pawl::rowstore
