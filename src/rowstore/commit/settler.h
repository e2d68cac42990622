// Settles messages inside a write transaction, one by one: sql/postgres/functions/queue/settle.sql
// in C++.
#pragma once

#include <optional>
#include <string>

#include "rowstore/commit/plain_settler.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/commit/task_settler.h"
#include "seam/outcome.h"

namespace pawl::rowstore {

class Settler {
public:
    explicit Settler(WriteScope& scope)
        : scope_(scope),
          session_(scope.session),
          now_(scope.now),
          wakeups_(scope.wakeups),
          runs_(scope),
          tasks_(scope),
          plain_(scope) {}
    Settler(const Settler&) = delete;
    Settler& operator=(const Settler&) = delete;

    [[nodiscard]] seam::WriteOutcome settle(const seam::Write& write, seam::Attempt attempt);
    // Moves a message to the dead letter queue or the archive, independent of its holder.
    void bury(MessageId message, const std::string& reason);

    // Fails the run of a poison message, or buries any other message. Returns the reason.
    std::string bury_poison(MessageId message, int strikes);

private:
    [[nodiscard]] bool is_elsewhere(const seam::Write& write);
    // Writes it if the lease is held. One overload per kind of write.
    Fence apply(const seam::Write& write);
    Fence apply(const seam::Write& write, const seam::Archive& archive);
    Fence apply(const seam::Write& write, const seam::Remove& remove);
    Fence apply(const seam::Write& write, const seam::Release& release);
    Fence apply(const seam::Write& write, const seam::HandBack& hand_back);
    Fence apply(const seam::Write& write, const seam::Fail& fail);
    Fence apply(const seam::Write& write, const seam::Bury& dead);
    Fence apply(const seam::Write& write, const seam::Extend& extend);
    Fence apply(const seam::Write& write, const seam::Checkpoint& checkpoint);
    Fence apply(const seam::Write& write, const seam::Suspend& suspend);
    Fence apply(const seam::Write& write, const seam::Finish& finish);
    Fence apply(const seam::Write& write, const seam::CompleteTask& complete);
    Fence apply(const seam::Write& write, const seam::FailTask& fail);
    Fence apply(const seam::Write& write, const seam::DelegateTask& delegate);
    [[nodiscard]] seam::WriteStatus explain(const seam::Write& write, seam::Attempt attempt);

    // Undoes the start of the task, if the released message belongs to one.
    void after_release(const Rows& rows);

    WriteScope& scope_;
    Session& session_;
    const Timestamp now_;
    PendingWakeups& wakeups_;
    RunSettler runs_;
    TaskSettler tasks_;
    PlainSettler plain_;
    std::optional<QueueId> named_queue_;  // of writes that name their queue, once it was looked up
    bool buried_ = false;                 // the current write has made a dead letter
    bool keeps_archive_ = true;           // guess for the queue of the next message
};

}  // namespace pawl::rowstore
