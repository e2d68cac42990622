#include <fmt/format.h>

#include "model/check.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/statements.h"
#include "rowstore/store/message_counts.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

QueueId find_queue_id(Session& session, const std::string& name) {
    Rows rows = session.query(sql::queue_id, std::string_view(name));
    return rows.next() ? rows.id<QueueId>(sql::row::QueueId::queue_id) : QueueId();
}

Error not_found_error(const std::string& name) {
    return {ErrorCode::queue_not_found, fmt::format(model::texts::queue_missing, name, name)};
}

// Returns id 0 if the name does not exist.
QueueId find_plain_queue(Session& session, const std::string& name) {
    Rows rows = session.query(sql::queue_id, std::string_view(name));
    if (!rows.next()) return {};
    using Row = sql::row::QueueId;
    if (!rows.flag(Row::is_workflow)) return rows.id<QueueId>(Row::queue_id);
    throw Error(ErrorCode::workflow_queue, fmt::format(model::texts::queue_of_workflow, name));
}

std::vector<QueueInfo> list_queues(Session& session, std::optional<std::string_view> only) {
    using Row = store::row::Queue;
    std::vector<QueueInfo> queues;
    Rows rows = session.query(sql::list_queues, only);
    while (rows.next()) {
        QueueInfo& queue = queues.emplace_back();
        queue.id = rows.id<QueueId>(Row::queue_id);
        queue.name = rows.text(Row::queue);
        queue.paused = rows.flag(Row::paused);
        queue.keep_archive = rows.flag(Row::keep_archive);
        if (!rows.null(Row::lease_ms)) queue.lease = Duration(rows.integer(Row::lease_ms));
        queue.max_strikes = rows.number(Row::max_strikes);
        queue.max_attempts = rows.number(Row::max_attempts);
        queue.dead_letter_queue = rows.text(Row::dead_letter_queue);
        queue.created_at = rows.time(Row::created_at);
        queue.kind = model::stored_value(model::queue_kinds, rows.text(Row::kind), "queue kind");
    }
    return queues;
}

void refuse_unsettled(Session& session, const std::string& name, QueueId id, Timestamp now) {
    const QueueStats held = count_messages(session, id, now, model::rules::count_limit);
    const Count live = held.ready + held.waiting + held.leased;
    if (live == 0 && held.dead == 0) return;
    throw Error(
        ErrorCode::queue_not_empty,
        fmt::format(model::texts::queue_not_empty, name, to_string(live), to_string(held.dead))
    );
}

}  // namespace

QueueId require_queue(Session& session, const std::string& name) {
    const QueueId id = find_queue_id(session, name);
    if (id) return id;
    throw not_found_error(name);
}

QueueId require_plain_queue(Session& session, const std::string& name) {
    const QueueId id = find_plain_queue(session, name);
    if (id) return id;
    throw not_found_error(name);
}

void RowStore::create_queue(const std::string& name, const QueueOptions& options) {
    model::check_name("queue", name);
    model::check_queue_options(name, options);
    write([&](Session& session, Timestamp now) {
        (void)find_plain_queue(session, name);  // throws if it belongs to a workflow
        QueueId forward_to;
        if (options.dead_letter_queue && !options.dead_letter_queue->empty())
            forward_to = require_plain_queue(session, *options.dead_letter_queue);
        std::optional<std::int64_t> lease_ms;
        if (options.lease) lease_ms = options.lease->count();
        session.post(
            sql::create_queue,
            std::string_view(name),
            options.keep_archive,
            lease_ms,
            options.max_strikes,
            options.max_attempts,
            options.dead_letter_queue.has_value(),
            forward_to,
            now
        );
    });
}

void RowStore::delete_queue(const std::string& name, DeleteMode mode) {
    write([&](Session& session, Timestamp now) {
        const QueueId id = require_plain_queue(session, name);
        if (mode == DeleteMode::if_empty) refuse_unsettled(session, name, id, now);
        session.post(sql::delete_queue_messages, id);
        session.post(sql::delete_queue_archive, id);
        session.post(sql::delete_queue, id);
    });
}

void RowStore::set_queue_paused(const std::string& name, bool paused) {
    const QueueId id = write([&](Session& session, Timestamp) {
        const QueueId found = require_queue(session, name);
        session.post(sql::set_queue_paused, found, paused);
        return found;
    });
    if (!paused) hub_.notify(id);
}

std::int64_t RowStore::purge_queue(const std::string& name) {
    return write([&](Session& session, Timestamp) {
        return session.execute(sql::delete_queue_messages, require_plain_queue(session, name));
    });
}

std::vector<QueueInfo> RowStore::queues() {
    return read([](Session& session) { return list_queues(session, std::nullopt); });
}

std::optional<QueueInfo> RowStore::find_queue(const std::string& name) {
    auto found = read([&](Session& session) { return list_queues(session, name); });
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<QueueId> RowStore::resolve_queues(std::span<const std::string> names) {
    return read([&](Session& session) {
        std::vector<QueueId> ids;
        ids.reserve(names.size());
        for (const std::string& name : names) ids.push_back(find_queue_id(session, name));
        return ids;
    });
}

std::vector<QueueStats> RowStore::queue_stats(
    const std::optional<std::string>& only, std::int64_t archived
) {
    return read([&](Session& session) {
        std::optional<std::span<const std::string>> names;
        if (only) names = std::span(&*only, 1);
        return read_queue_stats(session, names, current_time(session), archived);
    });
}

}  // namespace pawl::rowstore
