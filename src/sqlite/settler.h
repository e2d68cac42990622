// Settles messages inside a write transaction: sql/postgres/functions/04_settle.sql, one by one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sqlite/session.h"
#include "store/batch.h"

namespace pawl::sqlite {

class Settler {
public:
    Settler(Session& session, Timestamp now) : session_(session), now_(now) {}

    [[nodiscard]] store::WriteStatus settle(const store::Write& write, store::Attempt attempt);
    // A dead letter, whoever holds the message: to the dead letter queue, or to the archive.
    void bury(MessageId message, const std::string& reason);

    // Queues in which there may be something to do now that was not there before.
    [[nodiscard]] const std::vector<QueueId>& woken() const { return woken_; }

private:
    enum class Held { yes, no };
    Held apply(const store::Write& write);
    Held archive(const store::Write& write);
    Held release(const store::Write& write);
    Held hand_back(const store::Write& write);
    Held extend(const store::Write& write);
    Held fail(const store::Write& write);
    Held bury_held(const store::Write& write);
    [[nodiscard]] store::WriteStatus explain(const store::Write& write, store::Attempt attempt);
    void wake(QueueId queue);

    Session& session_;
    Timestamp now_;
    std::vector<QueueId> woken_;
    bool keeps_archive_ = true;  // a guess about the next message's queue
};

}  // namespace pawl::sqlite
