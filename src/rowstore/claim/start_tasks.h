// What a claim does with the tasks whose messages it took: starts them, and brings their input.
#pragma once

#include <optional>

#include "rowstore/commit/task_settler.h"
#include "seam/claim.h"

namespace pawl::rowstore {

class TaskStarter {
public:
    TaskStarter(WriteScope& scope, WorkerId worker) : scope_(scope), worker_(worker) {}

    // Puts the task's input into the message. None for a message that is no task.
    [[nodiscard]] std::optional<seam::ClaimedTask> start(const TaskKey& key, Message& message);

private:
    WriteScope& scope_;
    const WorkerId worker_;
};

}  // namespace pawl::rowstore
