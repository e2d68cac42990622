#include "generated/sqlite_sql.h"
#include "sqlite/sqlite_store.h"
#include "sqlite/user_session.h"

namespace pawl::sqlite {

namespace {

std::vector<MessageId> insert_messages(
    Session& session, QueueId queue, std::span<const NewMessage> messages, Timestamp now
) {
    std::vector<MessageId> ids;
    ids.reserve(messages.size());
    for (const NewMessage& message : messages) {
        const Timestamp at = message.options.at.value_or(now + message.options.delay);
        const std::string_view state = at > now ? "waiting" : "ready";
        session.execute(
            sql::insert_message,
            queue,
            message.options.priority,
            state,
            std::max(at, now),
            now,
            std::string_view(message.payload.text)
        );
        ids.emplace_back(session.last_id());
    }
    return ids;
}

}  // namespace

std::vector<MessageId> SqliteStore::enqueue(
    const std::string& queue, std::span<const NewMessage> messages
) {
    QueueId id;
    auto ids = write([&](Session& session, Timestamp now) {
        id = require_plain_queue(session, queue);
        return insert_messages(session, id, messages, now);
    });
    if (!ids.empty()) hub_.notify(id);
    return ids;
}

// The user commits later: the watch on the file notices that, nobody is woken here.
std::vector<MessageId> SqliteStore::enqueue_in(
    Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
) {
    UserSession session(transaction, "enqueue_in");
    Savepoint savepoint(session);
    auto ids = insert_messages(
        session, require_plain_queue(session, queue), messages, current_time(session)
    );
    savepoint.release();
    return ids;
}

}  // namespace pawl::sqlite
