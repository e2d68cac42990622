#include "rowstore/outbox/outbox_rows.h"

#include "model/enum_names.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

void insert_outbox(Session& session, const seam::OutboxRecord& record, Timestamp now) {
    session.post(
        sql::insert_outbox,
        std::string_view(record.event_id),
        std::string_view(record.event.type),
        std::string_view(record.event.payload.text),
        std::string_view(record.event.aggregate),
        std::string_view(record.event.subject),
        record.event.traceparent,
        record.run,
        now
    );
}

template <class Row>
OutboxEvent read_outbox(const Rows& rows) {
    OutboxEvent event;
    event.id = rows.integer(Row::outbox_id);
    event.event_id = rows.text(Row::event_id);
    event.type = rows.text(Row::type);
    event.payload.text = rows.text(Row::payload);
    event.aggregate = rows.text(Row::aggregate);
    event.subject = rows.text(Row::subject);
    if (!rows.null(Row::traceparent)) event.traceparent = rows.text(Row::traceparent);
    event.run = rows.id<RunId>(Row::run_id);
    event.status =
        model::stored_value(model::outbox_statuses, rows.text(Row::status), "outbox status");
    event.attempts = rows.number(Row::attempts);
    event.last_error = rows.text(Row::last_error);
    event.created_at = rows.time(Row::created_at);
    if (event.status == OutboxStatus::pending) event.visible_at = rows.time(Row::visible_at);
    if (!rows.null(Row::published_at)) event.published_at = rows.time(Row::published_at);
    return event;
}

template OutboxEvent read_outbox<store::row::OutboxEvent>(const Rows& rows);
template OutboxEvent read_outbox<store::row::LeasedEvent>(const Rows& rows);

}  // namespace pawl::rowstore
