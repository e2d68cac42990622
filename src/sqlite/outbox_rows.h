// Rows of the outbox: how they are written and read.
#pragma once

#include "sqlite/session.h"
#include "store/batch.h"

namespace pawl::sqlite {

void insert_outbox(Session& session, const store::OutboxRecord& record, Timestamp now);
// Of a statement that selects outbox_id, event_id, ..., published_at.
[[nodiscard]] OutboxEvent read_outbox(const Rows& rows);

}  // namespace pawl::sqlite
