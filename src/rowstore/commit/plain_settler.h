// Settles messages whose fences were prefetched (fences.h). It decides in C++ and posts the writes,
// so that the number of requests does not depend on the number of writes.
#pragma once

#include <optional>
#include <string>

#include "rowstore/commit/task_settler.h"
#include "rowstore/commit/write_scope.h"
#include "seam/write.h"

namespace pawl::rowstore {

class PlainSettler {
public:
    explicit PlainSettler(WriteScope& scope) : scope_(scope), session_(scope.session) {}

    // Whether it is a write of a message, not of a run or a task.
    [[nodiscard]] static bool takes(const seam::Write& write);

    struct Settled {
        Fence fence = Fence::held;
        std::optional<std::string> dead_letter = {};  // reason, if the caller must bury it
    };
    [[nodiscard]] Settled settle(const seam::Write& write);

private:
    void release(const seam::Write& write, const LeasedRow& row);
    [[nodiscard]] Settled fail(const Lease& lease, const seam::Fail& fail, const LeasedRow& row);

    WriteScope& scope_;
    Session& session_;
};

}  // namespace pawl::rowstore
