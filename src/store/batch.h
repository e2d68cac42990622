// What the two hot operations take and give: claims, and batches of writes with an outcome each.
#pragma once

#include <optional>
#include <pawl/message.h>
#include <string>
#include <vector>

namespace pawl::store {

// How strictly a claim keeps to priority and arrival. `streaming` is for a worker that claims again
// and again: it may pass over rows that come in late behind its last claim, for about a second.
enum class Scan { exact, streaming };

struct ClaimRequest {
    std::vector<QueueId> queues;
    int max_messages = 1;
    std::optional<Duration> lease;  // none: each queue's, or the store's default
    WorkerId worker;                // none for an anonymous dequeue
    QueueId after;                  // fairness: the queue after which to start looking
    Scan scan = Scan::exact;
};

struct Claim {
    std::vector<Message> messages;  // by priority, then arrival; `queue` is left empty,
    std::vector<QueueId> queues;    // for each message its queue's id stands here
    Timestamp now;                  // the database's clock at the claim
    std::optional<Timestamp>
        next_due;   // when the next row of these queues becomes claimable by time
    QueueId after;  // for the next request
    bool more =
        false;  // not every queue was looked at (wide subscriptions): claim again before waiting
};

enum class WriteKind {
    archive,    // done: to the archive, or gone where the queue keeps none
    remove,     // gone without a trace
    release,    // given back on purpose: strikes 0, visible after `delay`
    hand_back,  // given back unstarted: as if this hand-out had not been
    fail,    // attempts + 1, `reason` kept, visible after `delay`; dead at the queue's max_attempts
    bury,    // a dead letter now, with `reason`
    extend,  // the lease ends `delay` from now
};

struct Write {
    WriteKind kind = WriteKind::archive;
    Lease lease;
    Duration delay{0};
    std::string reason;
};

enum class WriteStatus {
    done,
    lease_lost,
    busy,      // somebody has the row locked just now: put it into the next batch
    rejected,  // this item alone made the database refuse the batch; `error` says why
};

struct WriteOutcome {
    WriteStatus status = WriteStatus::done;
    std::string error;
};

// `repeated`: an earlier commit of the same batch lost its answer, so what this delivery has
// already written counts as done.
enum class Attempt { first, repeated };

}  // namespace pawl::store
