// Claims events of the outbox: claim_outbox in sql/postgres/functions/outbox/outbox_dispatch.sql.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rowstore/session.h"
#include "seam/backend.h"

namespace pawl::rowstore {

class OutboxClaimer {
public:
    OutboxClaimer(Session& session, Timestamp now) : session_(session), now_(now) {}
    [[nodiscard]] seam::OutboxClaim claim(int limit, int per_aggregate, Duration lease);

private:
    struct Due {
        std::int64_t id = 0;
        std::string aggregate;
    };
    [[nodiscard]] std::vector<Due> read_due(int limit);
    // Fills picked_ up to the limit. An event behind one that is leased or waits is postponed.
    void pick(const std::vector<Due>& seen, std::size_t limit, int per_aggregate);
    void prefetch_lines(const std::vector<Due>& seen, std::size_t limit, int per_aggregate);
    void pick_line(const std::string& aggregate, int per_aggregate);
    [[nodiscard]] seam::OutboxDelivery read_leased(std::int64_t id);

    Session& session_;
    const Timestamp now_;
    std::vector<std::int64_t> picked_;  // events of one line are adjacent
};

[[nodiscard]] std::optional<Timestamp> next_outbox(Session& session, Timestamp now);

}  // namespace pawl::rowstore
