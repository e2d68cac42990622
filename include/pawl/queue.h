// A queue: enqueue, dequeue, settle, inspect, administer. Workers take messages with
// WorkerBuilder::on_message() (pawl/worker.h); dequeue() is for programs that do it by hand.
//
//   pawl::Queue mails = store.create_queue("mail");
//   mails.enqueue(Mail{"ada@example.com", "Welcome"});
#pragma once

#include <memory>
#include <optional>
#include <pawl/codec.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <pawl/stats.h>
#include <pawl/transaction.h>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pawl::engine {
class OpenStore;
}

namespace pawl::inline v0 {

/// The options of Store::create_queue(). On an existing queue only the fields that are set are
/// changed.
struct QueueOptions {
    std::optional<bool> keep_archive = {};  ///< default true: settled messages stay readable
    std::optional<Duration> lease = {};     ///< default: the store's (30 s)
    std::optional<int> max_strikes = {};    ///< deliveries without any report; default 5
    std::optional<int> max_attempts = {};   ///< failed executions; default 25, 0 means no limit
    /// Default: dead letters stay in the archive. "" restores the default.
    std::optional<std::string> dead_letter_queue = {};
};

/// What a queue carries: plain messages, the runs of a workflow, or the tasks of a flow.
enum class QueueKind { plain, workflow, flow };
/// The name: "plain", "workflow", "flow".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(QueueKind kind);

/// A queue's settings as they are stored. QueueOptions describes the fields that it shares.
struct QueueInfo {
    QueueId id;
    std::string name;
    QueueKind kind = QueueKind::plain;
    bool paused = false;  ///< see Queue::pause()
    bool keep_archive = true;
    std::optional<Duration> lease;
    int max_strikes = 5;
    int max_attempts = 25;
    std::string dead_letter_queue;  ///< empty: dead letters stay in this queue's archive
    Timestamp created_at;
};

/// Which archived messages: done ones, dead letters, or both.
enum class ArchiveFilter { all, done, dead };
/// The name: "all", "done", "dead".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(ArchiveFilter filter);

/// A handle of one queue. It is cheap to copy, keeps the store open, and may be used from several
/// threads. Creating one does no I/O. Every other call blocks until the database has answered,
/// retries for ConnectOptions::retry_timeout while the database is away (the calls with a
/// Transaction do not), and throws queue_not_found if the queue does not exist.
class PAWL_EXPORT Queue {
public:
    /// The name of the queue.
    [[nodiscard]] const std::string& name() const { return name_; }

    // --- enqueue: returns after the commit -----------------------------------------------------
    /// Throws invalid_payload, payload_too_large, invalid_argument; workflow_queue if the queue
    /// carries the runs of a workflow. An Error with in_doubt() means that the connection died
    /// during the commit: the message may exist.
    MessageId enqueue(const Json& payload, const EnqueueOptions& options = {}) const;
    /// The same with a typed value. Needs <pawl/json.h>.
    template <class T>
    requires(!std::is_convertible_v<const T&, std::span<const NewMessage>>) MessageId
        enqueue(const T& value, const EnqueueOptions& options = {})
    const { return enqueue(Json(detail::encode(value)), options); }
    /// All or nothing; an error names the index of the bad element. Ids are in the order given.
    std::vector<MessageId> enqueue(std::span<const NewMessage> messages) const;

    /// @{
    /// The same inside the caller's own open transaction: the messages exist if and only if that
    /// transaction commits. pawl neither commits nor rolls back. Throws wrong_transaction too.
    MessageId enqueue_in(
        Transaction transaction, const Json& payload, const EnqueueOptions& options = {}
    ) const;
    std::vector<MessageId> enqueue_in(Transaction transaction, std::span<const NewMessage> messages)
        const;
    /// @}

    // --- dequeue and settle --------------------------------------------------------------------
    /// Takes up to max_messages messages, by priority, then arrival. Each is leased until its
    /// visible_at; settle or extend it before then. Empty after the wait, or if the queue is
    /// paused. A message that was delivered twice without a report is delivered alone. Throws
    /// queue_not_found; workflow_queue if the queue carries the runs of a workflow, which only
    /// workers take.
    [[nodiscard]] std::vector<Message> dequeue(const DequeueOptions& options = {}) const;

    // These five return one outcome per lease, in the order given. They are durable on return. The
    // message of a run or a task can only be released and extended, by its holder. They throw
    // queue_not_found.
    /// Ends the messages as done. They move to the archive: see QueueOptions::keep_archive.
    std::vector<Outcome> archive(std::span<const Lease> leases) const;
    /// Deletes the messages, without an archived copy.
    std::vector<Outcome> remove(std::span<const Lease> leases) const;
    /// Gives the messages back: they are delivered again after `delay`. Counts no attempt.
    std::vector<Outcome> release(std::span<const Lease> leases, Duration delay = {}) const;
    /// The leases end `lease` from now.
    std::vector<Outcome> extend(std::span<const Lease> leases, Duration lease) const;
    /// Records a failure: the message is delivered again after `delay`, or becomes a dead letter at
    /// max_attempts.
    std::vector<Outcome> fail(std::span<const Lease> leases, std::string_view error, Duration delay)
        const;

    /// @{
    /// The same for one message. Throws workflow_queue for the message of a run or a task, and
    /// message_not_found for one that is leased from another queue.
    Outcome archive(const Message& message) const;
    Outcome remove(const Message& message) const;
    Outcome release(const Message& message, Duration delay = {}) const;
    Outcome extend(const Message& message, Duration lease) const;
    Outcome fail(const Message& message, std::string_view error, Duration delay) const;
    /// @}

    // --- inspect -------------------------------------------------------------------------------
    [[nodiscard]] QueueInfo info() const;                           ///< its settings
    [[nodiscard]] QueueStats stats() const;                         ///< counts by state
    [[nodiscard]] std::optional<Message> find(MessageId id) const;  ///< live messages only
    /// Live messages in one state, by id, without taking them.
    [[nodiscard]] std::vector<Message> list(MessageState state, const PageRequest& page = {}) const;
    /// Settled messages, by id.
    [[nodiscard]] std::vector<ArchivedMessage> archived(
        ArchiveFilter filter = ArchiveFilter::all, const PageRequest& page = {}
    ) const;

    // --- administration ------------------------------------------------------------------------
    void pause() const;          ///< enqueue still works, dequeue returns nothing
    void resume() const;         ///< ends a pause
    std::int64_t purge() const;  ///< deletes every live message, leased ones too; returns how many
    /// Puts an archived message back under its id; its delivery number continues. Throws
    /// message_not_found.
    void replay(MessageId id) const;
    std::int64_t replay_dead() const;  ///< the same for all dead letters; returns how many
    /// Deletes archived messages; returns how many.
    std::int64_t purge_archive(ArchiveFilter filter = ArchiveFilter::all) const;

private:
    friend struct detail::Access;
    Queue(std::shared_ptr<engine::OpenStore> store, std::string name)
        : store_(std::move(store)), name_(std::move(name)) {}

    std::shared_ptr<engine::OpenStore> store_;
    std::string name_;
};

}  // namespace pawl::inline v0
