#include "rowstore/outbox/outbox_claimer.h"

#include <algorithm>
#include <map>

#include "model/rules.h"
#include "rowstore/outbox/outbox_rows.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

seam::OutboxClaim OutboxClaimer::claim(int limit, int per_aggregate, Duration lease) {
    int wide = limit;
    bool more = false;
    for (int round = 0; round < model::rules::outbox_rounds; ++round) {
        const std::vector<Due> seen = look(wide);
        pick(seen, static_cast<std::size_t>(limit), per_aggregate);
        more = !picked_.empty() || static_cast<int>(seen.size()) >= wide;
        if (!picked_.empty() || !more) break;
        wide = std::max(limit, model::rules::wide_outbox);
    }
    if (picked_.size() > static_cast<std::size_t>(limit))
        picked_.resize(static_cast<std::size_t>(limit));
    seam::OutboxClaim claim;
    claim.now = now_;
    for (const std::int64_t id : picked_) claim.events.push_back(take(id, lease));
    claim.next_due = more ? now_ : next_outbox(session_, now_);
    return claim;
}

std::vector<OutboxClaimer::Due> OutboxClaimer::look(int limit) {
    std::vector<Due> seen;
    Rows rows = session_.query(sql::due_outbox, now_, limit);
    while (rows.next()) seen.push_back({rows.integer(0), std::string(rows.text(1))});
    return seen;
}

void OutboxClaimer::pick(const std::vector<Due>& seen, std::size_t limit, int per_aggregate) {
    std::map<std::string, Timestamp> blocked_until;
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

void OutboxClaimer::pick_line(const std::string& aggregate, int per_aggregate) {
    Rows rows = session_.query(sql::outbox_line, std::string_view(aggregate), now_, per_aggregate);
    while (rows.next() && rows.flag(1)) picked_.push_back(rows.integer(0));
}

seam::OutboxDelivery OutboxClaimer::take(std::int64_t id, Duration lease) {
    session_.post(sql::lease_outbox, id, now_ + lease);
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
