// A message: what stands in a queue, and what is left of it in the archive.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Where a live message stands now. A lease or a delay that has ended counts as ready.
enum class MessageState { ready, waiting, leased };
[[nodiscard]] std::string_view to_string(MessageState state);

struct Message {
    MessageId id;
    std::string queue;
    int delivery = 0;  ///< number of the hand-out, 0 before the first: the fencing token
    int strikes = 0;   ///< hand-outs since the last report: what poison is judged by
    int attempts = 0;  ///< how often a handler has failed it
    int priority = 0;
    MessageState state = MessageState::ready;
    Timestamp enqueued_at;
    Timestamp visible_at;  ///< when it can be handed out (again); for a leased one, the lease's end
    WorkerId worker;       ///< the holder, where it is a registered worker
    std::string last_error;  ///< of the last failed attempt
    Json payload;

    [[nodiscard]] Lease lease() const { return {id, delivery}; }
    /// The payload as a T. Throws Error(serialization_error). Needs <pawl/json.h>.
    template <class T>
    [[nodiscard]] T as() const {
        return JsonCodec<T>::decode(payload);
    }
};

/// A settled message. Done ones have no reason; dead letters say why they ended.
struct ArchivedMessage {
    MessageId id;
    std::string queue;
    int delivery = 0;
    int strikes = 0;
    int attempts = 0;
    int priority = 0;
    bool dead = false;
    std::string reason;
    Timestamp enqueued_at;
    Timestamp archived_at;
    WorkerId worker;
    Json payload;
};

struct EnqueueOptions {
    int priority = 0;                  ///< higher first; equal ones in order of arrival
    Duration delay{0};                 ///< from the database's now
    std::optional<Timestamp> at = {};  ///< a time instead of a delay; the past means now
};

/// One element of a batch.
struct NewMessage {
    Json payload = {};
    EnqueueOptions options = {};
};

struct DequeueOptions {
    int max_messages = 1;
    std::optional<Duration> lease = {};  ///< default: the queue's
    Duration wait{0};                    ///< how long to wait for a first message; no busy polling
};

/// Keyset paging: pass the last id seen as `after` to get the next page.
struct PageRequest {
    MessageId after = {};
    int limit = 100;
};

}  // namespace pawl
