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

OutboxEvent read_outbox(const Rows& rows) {
    OutboxEvent event;
    event.id = rows.integer(0);
    event.event_id = rows.text(1);
    event.type = rows.text(2);
    event.payload.text = rows.text(3);
    event.aggregate = rows.text(4);
    event.subject = rows.text(5);
    if (!rows.null(6)) event.traceparent = rows.text(6);
    event.run = rows.id<RunId>(7);
    event.status = model::stored_value(model::outbox_statuses, rows.text(8), "outbox status");
    event.attempts = rows.number(9);
    event.last_error = rows.text(10);
    event.created_at = rows.time(11);
    if (event.status == OutboxStatus::pending) event.visible_at = rows.time(12);
    if (!rows.null(13)) event.published_at = rows.time(13);
    return event;
}

}  // namespace pawl::rowstore
