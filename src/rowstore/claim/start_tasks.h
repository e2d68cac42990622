// Starts the tasks whose messages a claim took, and loads their input.
#pragma once

#include <optional>

#include "rowstore/commit/task_settler.h"
#include "seam/claim.h"

namespace pawl::rowstore {

class TaskStarter {
public:
    TaskStarter(WriteScope& scope, WorkerId worker) : scope_(scope), worker_(worker) {}

    // Announces the queries of start().
    void prefetch(const TaskKey& key);
    // Sets the payload of the message to the task's input. None if the message does not belong to a
    // task.
    [[nodiscard]] std::optional<seam::ClaimedTask> start(const TaskKey& key, Message& message);

private:
    WriteScope& scope_;
    const WorkerId worker_;
};

}  // namespace pawl::rowstore
