// Settles messages inside a write transaction: sql/postgres/functions/queue/settle.sql, one by one.
#pragma once

#include <optional>
#include <string>

#include "rowstore/commit/run_settler.h"
#include "rowstore/commit/task_settler.h"
#include "seam/batch.h"

namespace pawl::rowstore {

class Settler {
public:
    explicit Settler(WriteScope& scope)
        : session_(scope.session),
          now_(scope.now),
          wakeups_(scope.wakeups),
          runs_(scope),
          tasks_(scope) {}
    Settler(const Settler&) = delete;
    Settler& operator=(const Settler&) = delete;

    [[nodiscard]] seam::WriteOutcome settle(const seam::Write& write, seam::Attempt attempt);
    // A dead letter, whoever holds the message: to the dead letter queue, or to the archive.
    void bury(MessageId message, const std::string& reason);

    // Poison: a run fails, any other message is buried.
    std::string bury_poison(MessageId message, int strikes);

private:
    [[nodiscard]] bool is_elsewhere(const seam::Write& write);
    Held apply(const seam::Write& write);
    Held archive(const seam::Write& write);
    Held release(const seam::Write& write);
    Held hand_back(const seam::Write& write);
    Held extend(const seam::Write& write);
    Held fail(const seam::Write& write);
    Held bury_held(const seam::Write& write);
    [[nodiscard]] seam::WriteStatus explain(const seam::Write& write, seam::Attempt attempt);

    // A message that is given back was perhaps a task's.
    void given_back(const Rows& rows);

    Session& session_;
    const Timestamp now_;
    PendingWakeups& wakeups_;
    RunSettler runs_;
    TaskSettler tasks_;
    std::optional<QueueId> named_queue_;  // of writes by hand, once it was looked up
    bool keeps_archive_ = true;           // a guess about the next message's queue
};

}  // namespace pawl::rowstore
