#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "model/enum_names.h"
#include "model/texts.h"
#include "rowstore/outbox/outbox_claimer.h"
#include "rowstore/outbox/outbox_rows.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::OutboxReport;
using seam::WriteStatus;

namespace {

// Calls `send` with the statement of the report and its parameters.
template <class Send>
void with_statement(const OutboxReport& report, Timestamp now, Send send) {
    const std::string_view error = report.error;
    switch (report.kind) {
        case OutboxReport::Kind::published:
            return send(sql::publish_reported, report.id, report.delivery, now);
        case OutboxReport::Kind::retry:
            return send(sql::retry_reported, report.id, report.delivery, error, now + report.delay);
        case OutboxReport::Kind::park:
            return send(sql::park_reported, report.id, report.delivery, error, now);
        case OutboxReport::Kind::release:
            return send(sql::release_reported, report.id, report.delivery, now);
    }
}

// Returns the aggregate of the event if the report was accepted.
std::optional<std::string> write_report(
    Session& session, const OutboxReport& report, Timestamp now
) {
    std::optional<std::string> aggregate;
    with_statement(report, now, [&](const auto&... parts) {
        Rows rows = session.query(parts...);
        if (rows.next()) aggregate = rows.text(0);
    });
    return aggregate;
}

std::vector<OutboxEvent> read_all(Rows rows) {
    std::vector<OutboxEvent> events;
    while (rows.next()) events.push_back(read_outbox<store::row::OutboxEvent>(rows));
    return events;
}

// A page of the events with one status.
std::vector<OutboxEvent> list_status(
    Session& session, const OutboxFilter& filter, std::string_view status
) {
    if (filter.aggregate)
        return read_all(session.query(
            sql::list_outbox_by_aggregate,
            status,
            filter.type,
            std::string_view(*filter.aggregate),
            filter.after,
            filter.limit
        ));
    if (filter.type)
        return read_all(session.query(
            sql::list_outbox_by_type,
            status,
            std::string_view(*filter.type),
            filter.after,
            filter.limit
        ));
    return read_all(session.query(sql::list_outbox_by_status, status, filter.after, filter.limit));
}

}  // namespace

void RowStore::publish(std::span<const seam::OutboxRecord> events) {
    write([&](Session& session, Timestamp now) {
        for (const auto& event : events) insert_outbox(session, event, now);
    });
    hub_.notify(seam::outbox_changed);
}

void RowStore::publish_in(Transaction transaction, std::span<const seam::OutboxRecord> events) {
    run_in(transaction, "publish_in", [&](Session& session) {
        const Timestamp now = current_time(session);
        for (const auto& event : events) insert_outbox(session, event, now);
    });
}

std::vector<OutboxEvent> RowStore::list_outbox(const OutboxFilter& filter) {
    return read([&](Session& session) {
        if (filter.run) {
            std::optional<std::string_view> status;
            if (filter.status) status = to_string(*filter.status);
            return read_all(session.query(
                sql::list_run_outbox,
                filter.run,
                status,
                filter.type,
                filter.aggregate,
                filter.after,
                filter.limit
            ));
        }
        if (!filter.status && !filter.type && !filter.aggregate)
            return read_all(session.query(sql::list_outbox, filter.after, filter.limit));
        std::vector<OutboxEvent> events;
        for (const auto& [status, name] : model::outbox_statuses) {
            if (filter.status && filter.status != status) continue;
            std::ranges::move(list_status(session, filter, name), std::back_inserter(events));
        }
        std::ranges::sort(events, {}, &OutboxEvent::id);
        if (events.size() > static_cast<std::size_t>(filter.limit))
            events.resize(static_cast<std::size_t>(filter.limit));
        return events;
    });
}

// Usually no event is due; the check takes no write lock.
seam::OutboxClaim RowStore::claim_outbox(int limit, int per_aggregate, Duration lease) {
    const auto nothing = read([&](Session& session) -> std::optional<seam::OutboxClaim> {
        // The first pending event shows whether one is due, before the clock is known.
        session.prefetch(sql::next_outbox, Timestamp::min());
        const Timestamp now = current_time(session);
        if (session.round_trips() == RoundTrips::costly) {
            const auto first = next_outbox(session, Timestamp::min());
            if (first && *first <= now) return std::nullopt;
            return seam::OutboxClaim{{}, now, first};
        }
        if (session.query(sql::outbox_is_due, now).next()) return std::nullopt;
        return seam::OutboxClaim{{}, now, next_outbox(session, now)};
    });
    if (nothing) return *nothing;
    return write([&](Session& session, Timestamp now) {
        return OutboxClaimer(session, now).claim(limit, per_aggregate, lease);
    });
}

std::vector<WriteStatus> RowStore::report_outbox(std::span<const OutboxReport> reports) {
    auto outcomes = write([&](Session& session, Timestamp now) {
        std::vector<WriteStatus> statuses;
        std::vector<std::string> aggregates;
        for (const OutboxReport& report : reports)
            with_statement(report, now, [&](const auto&... parts) { session.prefetch(parts...); });
        for (const OutboxReport& report : reports) {
            const auto aggregate = write_report(session, report, now);
            statuses.push_back(aggregate ? WriteStatus::done : WriteStatus::lease_lost);
            if (aggregate && !aggregate->empty() &&
                std::ranges::find(aggregates, *aggregate) == aggregates.end())
                aggregates.push_back(*aggregate);
        }
        for (const std::string& aggregate : aggregates)
            session.post(sql::advance_line, std::string_view(aggregate), now);
        return statuses;
    });
    hub_.notify(seam::outbox_changed);
    return outcomes;
}

std::int64_t RowStore::retry_parked(std::int64_t id) {
    const auto retried = write([&](Session& session, Timestamp now) {
        return id == 0 ? session.execute(sql::retry_all_parked, now)
                       : session.execute(sql::retry_parked, id, now);
    });
    if (retried == 0 && id != 0)
        throw Error(
            ErrorCode::outbox_event_not_found, fmt::format(model::texts::event_not_parked, id)
        );
    hub_.notify(seam::outbox_changed);
    return retried;
}

}  // namespace pawl::rowstore
