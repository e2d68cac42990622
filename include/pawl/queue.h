// A queue: enqueue, dequeue, settle, look, administer. A Queue is a cheap handle; making one does
// no I/O.
#pragma once

#include <memory>
#include <optional>
#include <pawl/message.h>
#include <pawl/stats.h>
#include <pawl/transaction.h>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pawl {

namespace seam {
class Backend;
}

/// Only what is given is changed; create_queue() on an existing queue keeps the rest.
struct QueueOptions {
    std::optional<bool> keep_archive = {};  ///< default true: settled messages stay readable
    std::optional<Duration> lease = {};     ///< default: the store's (30 s)
    std::optional<int> max_strikes = {};    ///< default 5: hand-outs without any report
    std::optional<int> max_attempts = {};   ///< default 25: failed executions; 0 = no limit
    std::optional<std::string> dead_letter_queue =
        {};  ///< default: the archive; "" goes back to it
};

/// What a queue carries: plain messages, the runs of a workflow, or the tasks of a flow.
enum class QueueKind { plain, workflow, flow };
[[nodiscard]] std::string_view to_string(QueueKind kind);

/// A queue's settings as they are stored.
struct QueueInfo {
    QueueId id;
    std::string name;
    QueueKind kind = QueueKind::plain;
    bool paused = false;
    bool keep_archive = true;
    std::optional<Duration> lease;
    int max_strikes = 5;
    int max_attempts = 25;
    std::string dead_letter_queue;  ///< empty: dead letters stay in this queue's archive
    Timestamp created_at;
};

enum class ArchiveFilter { all, done, dead };

class Queue {
public:
    Queue(std::shared_ptr<seam::Backend> backend, std::string name);
    [[nodiscard]] const std::string& name() const { return name_; }

    // --- enqueue: returns after the commit -----------------------------------------------------
    /// Throws queue_not_found, invalid_payload, payload_too_large. An Error with in_doubt() means
    /// that the connection died while the commit was under way.
    MessageId enqueue(const Json& payload, const EnqueueOptions& options = {}) const;
    /// A typed value, through <pawl/json.h>.
    template <class T>
    requires(!std::is_convertible_v<const T&, std::span<const NewMessage>>) MessageId
        enqueue(const T& value, const EnqueueOptions& options = {})
    const {
        static_assert(
            !std::is_convertible_v<T, const char*>,
            "JSON text goes in as pawl::Json{...}; a JSON string as std::string"
        );
        return enqueue(JsonCodec<T>::encode(value), options);
    }
    /// All or nothing; an error names the index of the bad element. Ids are in the order given.
    std::vector<MessageId> enqueue(std::span<const NewMessage> messages) const;

    /// The same inside the caller's own open transaction: the messages exist exactly when that
    /// transaction commits. pawl neither commits nor rolls back.
    MessageId enqueue_in(
        Transaction transaction, const Json& payload, const EnqueueOptions& options = {}
    ) const;
    std::vector<MessageId> enqueue_in(Transaction transaction, std::span<const NewMessage> messages)
        const;

    // --- dequeue and settle --------------------------------------------------------------------
    /// Highest priority first, then order of arrival. Each message is yours until its visible_at;
    /// settle it or extend it before. Empty when the wait ran out, or the queue is paused. A
    /// message that came back twice without a report is delivered alone. Throws queue_not_found;
    /// workflow_queue if the queue carries the runs of a workflow, which only workers take.
    [[nodiscard]] std::vector<Message> dequeue(const DequeueOptions& options = {}) const;

    /// One outcome per lease, in the order given. Durable on return. The message of a run or a task
    /// can be released and extended by its holder, nothing else. Throws queue_not_found.
    std::vector<Outcome> archive(std::span<const Lease> leases
    ) const;  ///< deletes where none is kept
    std::vector<Outcome> remove(std::span<const Lease> leases) const;  ///< leaves no trace
    std::vector<Outcome> release(std::span<const Lease> leases, Duration delay = {}) const;
    std::vector<Outcome> extend(std::span<const Lease> leases, Duration lease) const;
    /// A recorded failure: attempts + 1 and back after `delay`; a dead letter at max_attempts.
    std::vector<Outcome> fail(
        std::span<const Lease> leases, const std::string& error, Duration delay
    ) const;

    /// The same for one message. Throws workflow_queue for the message of a run or a task, and
    /// message_not_found for one that is leased from another queue.
    Outcome archive(const Message& message) const;
    Outcome remove(const Message& message) const;
    Outcome release(const Message& message, Duration delay = {}) const;
    Outcome extend(const Message& message, Duration lease) const;
    Outcome fail(const Message& message, const std::string& error, Duration delay) const;

    // --- look-ups ------------------------------------------------------------------------------
    [[nodiscard]] QueueInfo info() const;
    [[nodiscard]] QueueStats stats() const;
    [[nodiscard]] std::optional<Message> get(MessageId id) const;
    [[nodiscard]] std::vector<Message> list(MessageState state, const PageRequest& page = {}) const;
    [[nodiscard]] std::vector<ArchivedMessage> archived(
        ArchiveFilter filter = ArchiveFilter::all, const PageRequest& page = {}
    ) const;

    // --- administration ------------------------------------------------------------------------
    void pause() const;  ///< enqueue goes on, dequeue returns nothing
    void resume() const;
    std::int64_t purge() const;  ///< deletes every live message, leased ones too; returns how many
    /// Puts an archived message back with its id; deliveries go on counting. Throws
    /// message_not_found.
    void replay(MessageId id) const;
    std::int64_t replay_dead() const;
    std::int64_t purge_archive(ArchiveFilter filter = ArchiveFilter::all) const;

private:
    std::shared_ptr<seam::Backend> backend_;
    std::string name_;
};

}  // namespace pawl
