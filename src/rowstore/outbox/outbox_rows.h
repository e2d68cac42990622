// Rows of the outbox: how they are written and read.
#pragma once

#include "rowstore/session.h"
#include "seam/batch.h"

namespace pawl::rowstore {

void insert_outbox(Session& session, const seam::OutboxRecord& record, Timestamp now);
// Of a statement that selects outbox_id, event_id, ..., published_at.
[[nodiscard]] OutboxEvent read_outbox(const Rows& rows);

}  // namespace pawl::rowstore
