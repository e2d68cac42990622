#include "rowstore/outbox/outbox_claimer.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/rules.h"
#include "rowstore/outbox/outbox_rows.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

seam::OutboxClaim OutboxClaimer::claim(int limit, int per_aggregate, Duration lease) {
    int wide = limit;
    bool more = false;
    for (int round = 0; round < model::rules::outbox_rounds; ++round) {
        const std::vector<Due> seen = read_due(wide);
        pick(seen, static_cast<std::size_t>(limit), per_aggregate);
        more = !picked_.empty() || static_cast<int>(seen.size()) >= wide;
        if (!picked_.empty() || !more) break;
        wide = std::max(limit, model::rules::wide_outbox);
    }
    if (picked_.size() > static_cast<std::size_t>(limit))
        picked_.resize(static_cast<std::size_t>(limit));
    seam::OutboxClaim claim;
    claim.now = now_;
    for (const std::int64_t id : picked_) {
        session_.post(sql::lease_outbox, id, now_ + lease);
        session_.prefetch(sql::leased_outbox, id);
    }
    if (!more) session_.prefetch(sql::next_outbox, now_);
    for (const std::int64_t id : picked_) claim.events.push_back(read_leased(id));
    claim.next_due = more ? now_ : next_outbox(session_, now_);
    return claim;
}

std::vector<OutboxClaimer::Due> OutboxClaimer::read_due(int limit) {
    std::vector<Due> seen;
    using Row = sql::row::DueOutbox;
    Rows rows = session_.query(sql::due_outbox, now_, limit);
    while (rows.next())
        seen.push_back({rows.integer(Row::outbox_id), std::string(rows.text(Row::aggregate))});
    return seen;
}

void OutboxClaimer::pick(const std::vector<Due>& seen, std::size_t limit, int per_aggregate) {
    std::map<std::string, Timestamp> blocked_until;
    prefetch_lines(seen, limit, per_aggregate);
    for (const Due& due : seen) {
        if (picked_.size() >= limit) return;
        if (due.aggregate.empty()) {
            picked_.push_back(due.id);
            continue;
        }
        auto known = blocked_until.find(due.aggregate);
        if (known == blocked_until.end()) {
            Timestamp until = now_;
            {
                Rows rows =
                    session_.query(sql::aggregate_blocked_until, std::string_view(due.aggregate));
                if (rows.next()) until = rows.time(0);
            }
            known = blocked_until.emplace(due.aggregate, until).first;
            if (until <= now_) pick_line(due.aggregate, per_aggregate);
        }
        if (known->second > now_) session_.post(sql::postpone_outbox, due.id, known->second);
    }
}

// Only for the aggregates that pick() can reach.
void OutboxClaimer::prefetch_lines(
    const std::vector<Due>& seen, std::size_t limit, int per_aggregate
) {
    if (session_.round_trips() == RoundTrips::free) return;
    std::set<std::string_view> aggregates;
    for (const Due& due : seen) {
        if (aggregates.size() >= limit) return;
        const std::string_view aggregate = due.aggregate;
        if (aggregate.empty() || !aggregates.insert(aggregate).second) continue;
        session_.prefetch(sql::aggregate_blocked_until, aggregate);
        session_.prefetch(sql::outbox_line, aggregate, now_, per_aggregate);
    }
}

void OutboxClaimer::pick_line(const std::string& aggregate, int per_aggregate) {
    using Row = sql::row::OutboxLine;
    Rows rows = session_.query(sql::outbox_line, std::string_view(aggregate), now_, per_aggregate);
    while (rows.next() && rows.flag(Row::is_free)) picked_.push_back(rows.integer(Row::outbox_id));
}

seam::OutboxDelivery OutboxClaimer::read_leased(std::int64_t id) {
    seam::OutboxDelivery taken;
    Rows rows = session_.query(sql::leased_outbox, id);
    if (rows.next()) {
        using Row = store::row::LeasedEvent;
        taken.event = read_outbox<Row>(rows);
        taken.delivery = rows.number(Row::delivery);
    }
    return taken;
}

std::optional<Timestamp> next_outbox(Session& session, Timestamp now) {
    Rows rows = session.query(sql::next_outbox, now);
    if (!rows.next()) return std::nullopt;
    return rows.time(0);
}

}  // namespace pawl::rowstore
