// Rows of the outbox: how they are written and read.
#pragma once

#include "rowstore/session.h"
#include "seam/write.h"

namespace pawl::rowstore {

void insert_outbox(Session& session, const seam::OutboxRecord& record, Timestamp now);
// Of a statement that selects outbox_id, event_id, ..., published_at.
// Row: store::row::OutboxEvent or LeasedEvent.
template <class Row>
[[nodiscard]] OutboxEvent read_outbox(const Rows& rows);

}  // namespace pawl::rowstore
