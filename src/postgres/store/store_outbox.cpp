#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/driver/user_transaction.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::OutboxRecord;
using seam::OutboxReport;
using seam::WriteStatus;

namespace {

constexpr auto sweep_outbox_every = std::chrono::seconds(1);

Params publish_params(std::span<const OutboxRecord> events, Wake wake) {
    std::vector<std::string_view> types;
    std::vector<std::string_view> payloads;
    std::vector<std::string_view> aggregates;
    std::vector<std::string_view> subjects;
    std::vector<std::optional<std::string_view>> traceparents;
    std::vector<std::string_view> ids;
    for (const OutboxRecord& record : events) {
        types.emplace_back(record.event.type);
        payloads.emplace_back(record.event.payload.text);
        aggregates.emplace_back(record.event.aggregate);
        subjects.emplace_back(record.event.subject);
        traceparents.emplace_back(record.event.traceparent);
        ids.emplace_back(record.event_id);
    }
    Params params;
    params.text_array(types).text_array(payloads).text_array(aggregates).text_array(subjects);
    params.text_array(traceparents).text_array(ids).boolean(wake == Wake::in_transaction);
    return params;
}

void add_optional(Params& params, const std::optional<std::string>& text) {
    if (text) {
        params.text(*text);
    } else {
        params.null();
    }
}

// Row: store::row::OutboxEvent or ClaimedEvent.
template <class Row>
OutboxEvent read_event(const Rows& rows, int row) {
    OutboxEvent event;
    event.id = rows.int8(row, Row::outbox_id);
    event.event_id = rows.text(row, Row::event_id);
    event.type = rows.text(row, Row::type);
    event.payload.text = rows.text(row, Row::payload);
    event.aggregate = rows.text(row, Row::aggregate);
    event.subject = rows.text(row, Row::subject);
    if (!rows.is_null(row, Row::traceparent)) event.traceparent = rows.text(row, Row::traceparent);
    event.run = RunId(rows.id(row, Row::run_id));
    event.attempts = rows.int4(row, Row::attempts);
    event.last_error = rows.text(row, Row::last_error);
    event.created_at = rows.time(row, Row::created_at);
    event.visible_at = rows.optional_time(row, Row::visible_at);
    return event;
}

std::string_view name_of(OutboxReport::Kind kind) {
    switch (kind) {
        case OutboxReport::Kind::published:
            return "published";
        case OutboxReport::Kind::retry:
            return "retry";
        case OutboxReport::Kind::park:
            return "park";
        case OutboxReport::Kind::release:
            break;
    }
    return "release";
}

}  // namespace

void PostgresStore::publish(std::span<const OutboxRecord> events) {
    const Wake wake = notifier_.next();
    producer_call(sql::publish_batch, publish_params(events, wake));
    notify(seam::outbox_changed, wake);
}

void PostgresStore::publish_in(Transaction transaction, std::span<const OutboxRecord> events) {
    UserTransaction user_tx(transaction, target_.schema);
    user_tx.run(sql::publish_batch, publish_params(events, Wake::in_transaction));
}

std::vector<OutboxEvent> PostgresStore::list_outbox(const OutboxFilter& filter) {
    Params params;
    if (filter.status) {
        params.text(to_string(*filter.status));
    } else {
        params.null();
    }
    add_optional(params, filter.type);
    add_optional(params, filter.aggregate);
    if (filter.run) {
        params.int8(filter.run.value());
    } else {
        params.null();
    }
    params.int8(filter.after).int4(filter.limit);
    const Rows rows = call(sql::list_outbox, params, IfAnswerLost::repeat);
    using Row = store::row::OutboxEvent;
    std::vector<OutboxEvent> events;
    for (int i = 0; i < rows.size(); ++i) {
        OutboxEvent& event = events.emplace_back(read_event<Row>(rows, i));
        event.status =
            model::stored_value(model::outbox_statuses, rows.text(i, Row::status), "outbox status");
        event.published_at = rows.optional_time(i, Row::published_at);
    }
    return events;
}

// The position to claim from. Events that were committed late, before it, are found once a second.
PostgresStore::OutboxPosition PostgresStore::outbox_position() {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(positions_mutex_);
    if (now - outbox_position_.swept_at < sweep_outbox_every) return outbox_position_;
    outbox_position_.swept_at = now;
    return {{}, 0, now};
}

// IfAnswerLost::repeat: events whose claim was not answered are claimed again when their lease
// expires.
seam::OutboxClaim PostgresStore::claim_outbox(int limit, int per_aggregate, Duration lease) {
    const OutboxPosition from = outbox_position();
    Params params;
    params.int4(limit).int4(per_aggregate).int8(lease.count());
    if (from.at) {
        params.time(*from.at).int8(from.id);
    } else {
        params.null().null();
    }
    const Rows rows = worker_call(sql::claim_outbox, params, IfAnswerLost::repeat);
    using Row = store::row::ClaimedEvent;
    seam::OutboxClaim claim;
    for (int i = 0; i + 1 < rows.size(); ++i)
        claim.events.push_back({read_event<Row>(rows, i), rows.int4(i, Row::delivery)});
    const int last = rows.size() - 1;
    claim.now = rows.time(last, Row::now_at);
    claim.next_due = rows.optional_time(last, Row::next_due);
    const std::lock_guard lock(positions_mutex_);
    outbox_position_.at = rows.time(last, Row::next_from_at);
    outbox_position_.id = rows.int8(last, Row::next_from_id);
    return claim;
}

std::vector<WriteStatus> PostgresStore::report_outbox(std::span<const OutboxReport> reports) {
    std::vector<std::int64_t> ids;
    std::vector<int> deliveries;
    std::vector<std::string_view> kinds;
    std::vector<std::string_view> errors;
    std::vector<std::int64_t> delays_ms;
    for (const OutboxReport& report : reports) {
        ids.push_back(report.id);
        deliveries.push_back(report.delivery);
        kinds.push_back(name_of(report.kind));
        errors.emplace_back(report.error);
        delays_ms.push_back(report.delay.count());
    }
    Params params;
    params.int8_array(ids).int4_array(deliveries).text_array(kinds).text_array(errors);
    params.int8_array(delays_ms);
    const Rows rows = worker_call(sql::report_outbox, params, IfAnswerLost::doubt);
    hub_.notify(seam::outbox_changed);  // the NOTIFY of report_outbox is for other processes
    static constexpr model::NameTable<WriteStatus, 3> words{{
        {WriteStatus::done, "done"},
        {WriteStatus::lease_lost, "lease_lost"},
        {WriteStatus::lease_lost, "invalid"},  // not recorded: the event is delivered again
    }};
    std::vector<WriteStatus> outcomes;
    for (const std::string_view word : rows.text_array(0, 0))
        outcomes.push_back(model::stored_value(words, word, "outcome"));
    return outcomes;
}

std::int64_t PostgresStore::retry_parked(std::int64_t id) {
    Params params;
    if (id != 0) {
        params.int8(id);
    } else {
        params.null();
    }
    const std::int64_t retried = call(sql::retry_parked, params, IfAnswerLost::doubt).int8(0, 0);
    {
        const std::lock_guard lock(positions_mutex_);
        outbox_position_ = {};  // older events become due again
    }
    hub_.notify(seam::outbox_changed);
    return retried;
}

}  // namespace pawl::postgres
