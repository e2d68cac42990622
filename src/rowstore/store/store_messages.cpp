#include <algorithm>
#include <limits>

#include "model/counts.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

Message read_message(const Rows& rows) {
    using Row = store::row::Message;
    Message message;
    message.id = rows.id<MessageId>(Row::message_id);
    message.queue = rows.text(Row::queue);
    message.priority = rows.number(Row::priority);
    message.delivery = rows.number(Row::delivery);
    message.strikes = rows.number(Row::strikes);
    message.attempts = rows.number(Row::attempts);
    message.state =
        model::stored_value(model::message_states, rows.text(Row::state), "message state");
    message.enqueued_at = rows.time(Row::enqueued_at);
    message.visible_at = rows.time(Row::visible_at);
    message.worker = rows.id<WorkerId>(Row::worker_id);
    message.last_error = rows.text(Row::last_error);
    message.payload.text = rows.text(Row::payload);
    return message;
}

ArchivedMessage read_archived(const Rows& rows) {
    using Row = store::row::Archived;
    ArchivedMessage message;
    message.id = rows.id<MessageId>(Row::message_id);
    message.queue = rows.text(Row::queue);
    message.priority = rows.number(Row::priority);
    message.delivery = rows.number(Row::delivery);
    message.strikes = rows.number(Row::strikes);
    message.attempts = rows.number(Row::attempts);
    message.dead = rows.flag(Row::dead);
    message.reason = rows.text(Row::reason);
    message.enqueued_at = rows.time(Row::enqueued_at);
    message.archived_at = rows.time(Row::archived_at);
    message.worker = rows.id<WorkerId>(Row::worker_id);
    message.payload.text = rows.text(Row::payload);
    return message;
}

// The ids of a page in ascending order: see message_page() on PostgreSQL.
class MessagePage {
public:
    MessagePage(Session& session, QueueId queue, MessageState state, const PageRequest& page)
        : session_(session), queue_(queue), state_(state), page_(page) {}

    std::vector<MessageId> find(Timestamp now) {
        const bool ready = state_ == MessageState::ready;
        const Timestamp from = ready ? Timestamp::min() : now;
        const Timestamp until = ready ? now : Timestamp::max();
        if ((ready && !take_ready()) || count_timed(from, until) > model::rules::count_limit) {
            ids_.clear();
            take(session_.query(
                sql::page_any, queue_, to_string(state_), now, page_.after.value(), page_.limit
            ));
            return std::move(ids_);
        }
        take(session_.query(
            sql::page_timed,
            queue_,
            to_string(state_),
            from,
            until,
            page_.after.value(),
            page_.limit
        ));
        std::ranges::sort(ids_);
        if (ids_.size() > static_cast<std::size_t>(page_.limit))
            ids_.resize(static_cast<std::size_t>(page_.limit));
        return std::move(ids_);
    }

private:
    // Takes a page of each priority. Returns false if there are too many priorities.
    bool take_ready() {
        std::int64_t below = std::numeric_limits<std::int64_t>::max();
        for (int i = 0; i < model::rules::max_priorities; ++i) {
            {
                Rows rows = session_.query(sql::next_priority, queue_, below);
                if (!rows.next()) return true;
                below = rows.integer(sql::row::NextPriority::priority);
            }
            take(session_.query(sql::page_ready, queue_, below, page_.after.value(), page_.limit));
        }
        return false;
    }

    std::int64_t count_timed(Timestamp from, Timestamp until) {
        Rows rows =
            session_.query(sql::count_timed, queue_, from, until, model::rules::count_limit + 1);
        return rows.next() ? rows.integer(sql::row::CountTimed::messages) : 0;
    }

    void take(Rows&& rows) {
        while (rows.next()) ids_.push_back(rows.id<MessageId>(0));
    }

    Session& session_;
    QueueId queue_;
    MessageState state_;
    const PageRequest& page_;
    std::vector<MessageId> ids_;
};

std::vector<ArchivedMessage> read_all_archived(Rows&& rows) {
    std::vector<ArchivedMessage> messages;
    while (rows.next()) messages.push_back(read_archived(rows));
    return messages;
}

std::optional<bool> wanted_dead(ArchiveFilter filter) {
    switch (filter) {
        case ArchiveFilter::all:
            return std::nullopt;
        case ArchiveFilter::done:
            return false;
        case ArchiveFilter::dead:
            return true;
    }
    return std::nullopt;
}

}  // namespace

std::optional<Message> RowStore::find_message(const std::string& queue, MessageId id) {
    return read([&](Session& session) -> std::optional<Message> {
        session.prefetch(sql::fixed_clock);
        const QueueId queue_id = require_queue(session, queue);
        Rows rows = session.query(sql::find_message, queue_id, id, current_time(session));
        if (!rows.next()) return std::nullopt;
        return read_message(rows);
    });
}

std::vector<Message> RowStore::list_messages(
    const std::string& queue, MessageState state, const PageRequest& page
) {
    return read([&](Session& session) {
        const QueueId id = require_queue(session, queue);
        const Timestamp now = current_time(session);
        std::vector<Message> messages;
        const auto ids = MessagePage(session, id, state, page).find(now);
        for (const MessageId message : ids) session.prefetch(sql::find_message, id, message, now);
        for (const MessageId message : ids) {
            Rows rows = session.query(sql::find_message, id, message, now);
            if (rows.next()) messages.push_back(read_message(rows));
        }
        return messages;
    });
}

std::vector<Message> RowStore::held_messages(WorkerId worker, const PageRequest& page) {
    return read([&](Session& session) {
        std::vector<Message> messages;
        Rows rows = session.query(
            sql::list_held,
            worker,
            current_time(session),
            page.after.value(),
            model::rules::count_limit,
            page.limit
        );
        while (rows.next()) messages.push_back(read_message(rows));
        return messages;
    });
}

std::vector<ArchivedMessage> RowStore::list_archive(
    const std::string& queue, ArchiveFilter filter, const PageRequest& page
) {
    return read([&](Session& session) {
        const QueueId id = require_queue(session, queue);
        const std::int64_t after = page.after.value();
        if (filter == ArchiveFilter::dead)
            return read_all_archived(session.query(sql::list_dead, id, after, page.limit));
        return read_all_archived(
            session.query(sql::list_archive, id, wanted_dead(filter), after, page.limit)
        );
    });
}

std::int64_t RowStore::replay(const std::string& queue, MessageId id) {
    QueueId queue_id;
    const std::int64_t replayed = write([&](Session& session, Timestamp now) {
        queue_id = require_plain_queue(session, queue);
        if (id) {
            const auto count = session.execute(sql::replay_one, queue_id, id, now);
            session.post(sql::forget_one, queue_id, id);
            return count;
        }
        const auto count = session.execute(sql::replay_dead, queue_id, now);
        session.post(sql::purge_archive, queue_id, true);
        return count;
    });
    if (replayed > 0) hub_.notify(queue_id);
    return replayed;
}

std::int64_t RowStore::purge_archive(const std::string& queue, ArchiveFilter filter) {
    return write([&](Session& session, Timestamp) {
        return session.execute(
            sql::purge_archive, require_queue(session, queue), wanted_dead(filter)
        );
    });
}

}  // namespace pawl::rowstore
