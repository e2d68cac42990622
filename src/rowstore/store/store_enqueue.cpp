#include "rowstore/run/message_ids.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

std::vector<MessageId> insert_messages(
    Session& session,
    MessageIds numbers,
    QueueId queue,
    std::span<const NewMessage> messages,
    Timestamp now
) {
    std::vector<MessageId> ids;
    ids.reserve(messages.size());
    for (const NewMessage& message : messages) {
        const Timestamp at = message.options.at.value_or(now + message.options.delay);
        const std::string_view state = at > now ? "waiting" : "ready";
        const MessageRow row{
            queue, message.options.priority, state, std::max(at, now), message.payload.text};
        ids.emplace_back(numbers.insert(session, row, now));
    }
    return ids;
}

}  // namespace

std::vector<MessageId> RowStore::enqueue(
    const std::string& queue, std::span<const NewMessage> messages
) {
    QueueId id;
    MessageIds numbers;
    const auto announce = [&](Session& session) {
        numbers = MessageIds(session, messages.size());
        session.prefetch(sql::queue_id, std::string_view(queue));
    };
    const auto insert = [&](Session& session, Timestamp now) {
        id = require_plain_queue(session, queue);
        return insert_messages(session, numbers, id, messages, now);
    };
    auto ids = write(insert, announce);
    if (!ids.empty()) hub_.notify(id);
    return ids;
}

std::vector<MessageId> RowStore::enqueue_in(
    Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
) {
    std::vector<MessageId> ids;
    run_in(transaction, "enqueue_in", [&](Session& session) {
        const QueueId id = require_plain_queue(session, queue);
        ids = insert_messages(session, {}, id, messages, current_time(session));
    });
    return ids;
}

}  // namespace pawl::rowstore
