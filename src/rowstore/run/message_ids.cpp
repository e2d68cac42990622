#include "rowstore/run/message_ids.h"

#include "rowstore/statements.h"

namespace pawl::rowstore {

MessageIds::MessageIds(Session& session, std::size_t count) {
    if (session.round_trips() == RoundTrips::free || count == 0) return;
    left_ = count;
    session.post(sql::create_message_sequence);
    session.post(sql::reserve_message_ids, count);
    session.prefetch(sql::reserved_message_id);
}

std::int64_t MessageIds::insert(Session& session, const MessageRow& row, Timestamp now) {
    const auto& [queue, priority, state, visible_at, payload] = row;
    const auto id = take(session);
    if (!id)
        return session.insert(
            sql::insert_message, queue, priority, state, visible_at, now, payload
        );
    session.post(
        sql::insert_numbered_message, *id, queue, priority, state, visible_at, now, payload
    );
    return *id;
}

std::optional<std::int64_t> MessageIds::take(Session& session) {
    if (left_ == 0) return std::nullopt;
    if (next_ == 0) {
        Rows rows = session.query(sql::reserved_message_id);
        if (rows.next()) next_ = rows.integer(0) - static_cast<std::int64_t>(left_) + 1;
    }
    --left_;
    return next_++;
}

}  // namespace pawl::rowstore
