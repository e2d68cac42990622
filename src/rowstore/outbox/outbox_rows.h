// Writes and reads rows of the outbox.
#pragma once

#include "rowstore/session.h"
#include "seam/write.h"

namespace pawl::rowstore {

void insert_outbox(Session& session, const seam::OutboxRecord& record, Timestamp now);
// `Row` is store::row::OutboxEvent or LeasedEvent.
template <class Row>
[[nodiscard]] OutboxEvent read_outbox(const Rows& rows);

}  // namespace pawl::rowstore
