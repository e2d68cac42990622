// The searches shared by lists and counts of runs.
#pragma once

#include <limits>
#include <pawl/run.h>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

struct FoundRun {
    RunId id;
    RunStatus status = RunStatus::queued;
    Timestamp created_at;
};

class RunFinder {
public:
    struct Workflow {
        QueueId id;
        bool is_flow = false;
    };
    // Where a list begins: after this run, or before this time.
    struct Position {
        Timestamp at = Timestamp::max();
        std::int64_t run = std::numeric_limits<std::int64_t>::max();
    };

    RunFinder(Session& session, const RunFilter& filter, RunId before);

    // The workflow of the filter, or all workflows.
    [[nodiscard]] const std::vector<Workflow>& workflows() const { return workflows_; }
    // Up to `limit` runs of a workflow with that status, newest first. Without a status, up to
    // `limit` of each group.
    void walk(QueueId workflow, std::optional<RunStatus> status, std::int64_t limit);
    // The same for QUEUED and RUNNING runs.
    void walk_unpaused(QueueId workflow, std::int64_t limit);
    // The same for RUNNING runs of a flow.
    void walk_running_flow(QueueId flow, std::int64_t limit);
    void walk_key(QueueId workflow, std::int64_t limit);
    // In the order of ids; reads up to `reading` runs with the tag.
    void walk_tag(std::int64_t reading, std::int64_t limit);
    [[nodiscard]] bool has_more_tagged(std::int64_t behind);
    [[nodiscard]] bool has_tag(RunId run);
    void walk_all(std::int64_t limit);
    // The RUNNING runs of all code-first workflows. False if too many runs were delivered.
    bool pick_running();

    // The runs found so far, newest first, at most `limit`.
    [[nodiscard]] std::vector<FoundRun> take_newest(std::size_t limit);
    [[nodiscard]] std::vector<FoundRun>& found() { return found_; }

private:
    void read_workflows();
    void set_position(RunId before);
    void walk_group(
        int group, QueueId workflow, std::optional<RunStatus> status, std::int64_t limit
    );
    void take(Rows&& rows);

    Session& session_;
    const RunFilter& filter_;
    std::vector<Workflow> workflows_;
    QueueId only_workflow_;
    std::optional<std::string_view> status_;
    Timestamp from_ = Timestamp::min();
    Timestamp until_ = Timestamp::max();
    Position position_;
    std::int64_t before_run_ = std::numeric_limits<std::int64_t>::max();
    std::vector<FoundRun> found_;
};

}  // namespace pawl::rowstore
