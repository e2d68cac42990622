// A message: one unit of work in a queue. It is live until it is settled. Settled messages are kept
// in the archive, if the queue keeps one.
#pragma once

#include <optional>
#include <pawl/codec.h>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// The state of a live message. ready: it can be delivered now. waiting: it is delayed, or backs
/// off after a failure. leased: a worker or a caller of dequeue() holds it. A lease or a delay that
/// has elapsed counts as ready.
enum class MessageState { ready, waiting, leased };
/// The name: "ready", "waiting", "leased".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(MessageState state);

/// A live message, as it was when it was read: a copy that does not change.
struct Message {
    MessageId id;
    std::string queue;
    int delivery = 0;  ///< how often it was delivered, 0 before the first time: the fencing token
    int strikes = 0;   ///< deliveries since the last report; too many make it a dead letter
    int attempts = 0;  ///< how often a handler has failed it
    int priority = 0;  ///< higher first
    MessageState state = MessageState::ready;
    Timestamp enqueued_at;
    Timestamp visible_at;    ///< when it can be delivered (again); if leased, the end of the lease
    WorkerId worker;         ///< the holder, if it is a registered worker
    std::string last_error;  ///< of the last failed attempt
    Json payload;

    /// The right to settle this delivery of the message.
    [[nodiscard]] Lease lease() const { return {id, delivery}; }
    /// The payload as a T. Throws serialization_error, which names the message. Needs
    /// <pawl/json.h>.
    template <class T>
    [[nodiscard]] T as() const {
        return detail::decode<T>(payload, [this] {
            return "message " + std::to_string(id.value()) + " of queue '" + queue + "'";
        });
    }
};

/// A settled message.
struct ArchivedMessage {
    MessageId id;
    std::string queue;
    int delivery = 0;  ///< at the end; see Message for this and the next three
    int strikes = 0;
    int attempts = 0;
    int priority = 0;
    bool dead = false;   ///< a dead letter: it was given up
    std::string reason;  ///< for a dead letter: why it was given up
    Timestamp enqueued_at;
    Timestamp archived_at;
    WorkerId worker;  ///< the last holder, if it was a registered worker
    Json payload;
};

/// How a message is added to a queue.
struct EnqueueOptions {
    int priority = 0;   ///< higher first; equal ones in order of arrival; -1,000,000 to 1,000,000
    Duration delay{0};  ///< before the first delivery, by the database's clock; up to 100 years
    std::optional<Timestamp> at = {};  ///< a time instead of a delay; the past means now
};

/// One message of a batch.
struct NewMessage {
    Json payload = {};
    EnqueueOptions options = {};
};

/// How messages are taken from a queue by hand.
struct DequeueOptions {
    int max_messages = 1;                ///< 1 to 10,000
    std::optional<Duration> lease = {};  ///< how long they are held; default: the queue's
    Duration wait{0};  ///< how long the call blocks until there is a message; it does not busy-wait
};

/// Keyset paging by id: pass the last id of a page as `after` to get the next page.
struct PageRequest {
    MessageId after = {};
    int limit = 100;  ///< 1 to 10,000
};

}  // namespace pawl::inline v0
