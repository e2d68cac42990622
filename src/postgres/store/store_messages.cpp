#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

std::vector<Message> read_messages(const Rows& rows) {
    std::vector<Message> messages;
    for (int i = 0; i < rows.size(); ++i) {
        Message message;
        message.id = MessageId(rows.int8(i, 0));
        message.queue = rows.text(i, 1);
        message.priority = rows.int4(i, 2);
        message.delivery = rows.int4(i, 3);
        message.strikes = rows.int4(i, 4);
        message.attempts = rows.int4(i, 5);
        message.state =
            model::stored_value(model::message_states, rows.text(i, 6), "message state");
        message.enqueued_at = rows.time(i, 7);
        message.visible_at = rows.time(i, 8);
        message.worker = WorkerId(rows.id(i, 9));
        message.last_error = rows.text(i, 10);
        message.payload.text = rows.text(i, 11);
        messages.push_back(std::move(message));
    }
    return messages;
}

std::vector<ArchivedMessage> read_archive(const Rows& rows) {
    std::vector<ArchivedMessage> messages;
    for (int i = 0; i < rows.size(); ++i) {
        ArchivedMessage message;
        message.id = MessageId(rows.int8(i, 0));
        message.queue = rows.text(i, 1);
        message.priority = rows.int4(i, 2);
        message.delivery = rows.int4(i, 3);
        message.strikes = rows.int4(i, 4);
        message.attempts = rows.int4(i, 5);
        message.dead = rows.boolean(i, 6);
        message.reason = rows.text(i, 7);
        message.enqueued_at = rows.time(i, 8);
        message.archived_at = rows.time(i, 9);
        message.worker = WorkerId(rows.id(i, 10));
        message.payload.text = rows.text(i, 11);
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
    hub_.notify_all();  // the function itself notifies the other processes
    return replayed;
}

std::int64_t PostgresStore::purge_archive(const std::string& queue, ArchiveFilter filter) {
    Params params;
    add_filter(params.text(queue), filter);
    return call(sql::purge_archive, params, IfAnswerLost::doubt).int8(0, 0);
}

}  // namespace pawl::postgres
