// Ids for new messages and runs, reserved ahead. Normally the database assigns an id at the insert.
// If round trips are costly, a batch reserves its ids with its first request and posts its inserts.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string_view>

#include "rowstore/session.h"

namespace pawl::rowstore {

struct MessageRow {
    QueueId queue;
    int priority = 0;
    std::string_view state;
    Timestamp visible_at;
    std::string_view payload;
};

class MessageIds {
public:
    MessageIds() = default;
    // Announces the reservation; a no-op if round trips are free.
    MessageIds(Session& session, std::size_t count);

    // Returns the id of the new message.
    std::int64_t insert(Session& session, const MessageRow& row, Timestamp now);
    // The next reserved id, if there is one.
    [[nodiscard]] std::optional<std::int64_t> take(Session& session);

private:
    std::size_t left_ = 0;
    std::int64_t next_ = 0;  // 0: the answer was not read yet
};

}  // namespace pawl::rowstore
