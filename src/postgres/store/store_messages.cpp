#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

std::vector<Message> read_messages(const Rows& rows) {
    using Row = store::row::Message;
    std::vector<Message> messages;
    for (int i = 0; i < rows.size(); ++i) {
        Message message;
        message.id = MessageId(rows.int8(i, Row::message_id));
        message.queue = rows.text(i, Row::queue);
        message.priority = rows.int4(i, Row::priority);
        message.delivery = rows.int4(i, Row::delivery);
        message.strikes = rows.int4(i, Row::strikes);
        message.attempts = rows.int4(i, Row::attempts);
        message.state =
            model::stored_value(model::message_states, rows.text(i, Row::state), "message state");
        message.enqueued_at = rows.time(i, Row::enqueued_at);
        message.visible_at = rows.time(i, Row::visible_at);
        message.worker = WorkerId(rows.id(i, Row::worker_id));
        message.last_error = rows.text(i, Row::last_error);
        message.payload.text = rows.text(i, Row::payload);
        messages.push_back(std::move(message));
    }
    return messages;
}

std::vector<ArchivedMessage> read_archive(const Rows& rows) {
    using Row = store::row::Archived;
    std::vector<ArchivedMessage> messages;
    for (int i = 0; i < rows.size(); ++i) {
        ArchivedMessage message;
        message.id = MessageId(rows.int8(i, Row::message_id));
        message.queue = rows.text(i, Row::queue);
        message.priority = rows.int4(i, Row::priority);
        message.delivery = rows.int4(i, Row::delivery);
        message.strikes = rows.int4(i, Row::strikes);
        message.attempts = rows.int4(i, Row::attempts);
        message.dead = rows.boolean(i, Row::dead);
        message.reason = rows.text(i, Row::reason);
        message.enqueued_at = rows.time(i, Row::enqueued_at);
        message.archived_at = rows.time(i, Row::archived_at);
        message.worker = WorkerId(rows.id(i, Row::worker_id));
        message.payload.text = rows.text(i, Row::payload);
        messages.push_back(std::move(message));
    }
    return messages;
}

Params& add_filter(Params& params, ArchiveFilter filter) {
    switch (filter) {
        case ArchiveFilter::all:
            return params.null();
        case ArchiveFilter::done:
            return params.boolean(false);
        case ArchiveFilter::dead:
            return params.boolean(true);
    }
    return params.null();
}

}  // namespace

std::optional<Message> PostgresStore::find_message(const std::string& queue, MessageId id) {
    Params params;
    params.text(queue).null().int8(0).int4(1).int8(id.value());
    auto found = read_messages(call(sql::list_messages, params, IfAnswerLost::repeat));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<Message> PostgresStore::list_messages(
    const std::string& queue, MessageState state, const PageRequest& page
) {
    Params params;
    params.text(queue).text(to_string(state)).int8(page.after.value()).int4(page.limit).null();
    return read_messages(call(sql::list_messages, params, IfAnswerLost::repeat));
}

std::vector<Message> PostgresStore::held_messages(WorkerId worker, const PageRequest& page) {
    Params params;
    params.int8(worker.value()).int8(page.after.value()).int4(page.limit);
    return read_messages(call(sql::list_held, params, IfAnswerLost::repeat));
}

std::vector<ArchivedMessage> PostgresStore::list_archive(
    const std::string& queue, ArchiveFilter filter, const PageRequest& page
) {
    Params params;
    add_filter(params.text(queue), filter).int8(page.after.value()).int4(page.limit);
    return read_archive(call(sql::list_archive, params, IfAnswerLost::repeat));
}

std::int64_t PostgresStore::replay(const std::string& queue, MessageId id) {
    Params params;
    params.text(queue);
    if (id) {
        params.int8(id.value());
    } else {
        params.null();
    }
    const auto replayed = call(sql::replay, params, IfAnswerLost::doubt).int8(0, 0);
    hub_.notify_all();  // the function notifies other processes
    return replayed;
}

std::int64_t PostgresStore::purge_archive(const std::string& queue, ArchiveFilter filter) {
    Params params;
    add_filter(params.text(queue), filter);
    return call(sql::purge_archive, params, IfAnswerLost::doubt).int8(0, 0);
}

}  // namespace pawl::postgres
