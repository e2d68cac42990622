#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

using seam::DueSchedules;
using seam::ScheduleFire;
using seam::StoredSchedule;

namespace {

// `Row` is store::row::Schedule, or DueSchedule, which also has its columns.
template <class Row>
StoredSchedule read_schedule(const Rows& rows, int row) {
    StoredSchedule schedule;
    schedule.id = rows.int8(row, Row::schedule_id);
    schedule.version = rows.int8(row, Row::version);
    ScheduleInfo& info = schedule.info;
    info.name = rows.text(row, Row::schedule);
    info.workflow = rows.text(row, Row::workflow);
    info.cron = rows.text(row, Row::cron);
    info.time_zone = rows.text(row, Row::time_zone);
    info.params.text = rows.text(row, Row::params);
    info.start = rows.optional_time(row, Row::starts_at);
    info.end = rows.optional_time(row, Row::ends_at);
    info.jitter = Duration(rows.int8(row, Row::jitter_ms));
    info.priority = rows.int4(row, Row::priority);
    info.overlap =
        model::stored_value(model::overlaps, rows.text(row, Row::overlap), "overlap policy");
    info.catch_up =
        model::stored_value(model::catch_ups, rows.text(row, Row::catch_up), "catch-up policy");
    info.catch_up_limit = rows.int4(row, Row::catch_up_limit);
    info.paused = rows.boolean(row, Row::paused);
    info.next_fire_at = rows.optional_time(row, Row::next_fire_at);
    info.last_fire_at = rows.optional_time(row, Row::last_fire_at);
    info.last_run = RunId(rows.id(row, Row::last_run_id));
    info.waiting_fire_at = rows.optional_time(row, Row::waiting_fire_at);
    info.created_at = rows.time(row, Row::created_at);
    return schedule;
}

Params save_params(const StoredSchedule& schedule) {
    const ScheduleInfo& info = schedule.info;
    Params params;
    params.int8(schedule.id).int8(schedule.version).text(info.name).text(info.workflow);
    params.text(info.cron).text(info.time_zone).text(info.params.text);
    params.optional(info.start, &Params::time).optional(info.end, &Params::time);
    params.int8(info.jitter.count()).int4(info.priority);
    params.text(to_string(info.overlap)).text(to_string(info.catch_up));
    params.int4(info.catch_up_limit).boolean(info.paused);
    params.optional(info.next_fire_at, &Params::time);
    params.optional(info.waiting_fire_at, &Params::time);
    return params;
}

// Workflow, input, priority and tag are those of the schedule: an equal version means that they are
// unchanged.
Params fire_params(const ScheduleFire& fire, Wake wake) {
    std::vector<std::optional<Timestamp>> fire_ats;
    std::vector<std::optional<Timestamp>> ats;
    std::vector<std::string_view> keys;
    for (const ScheduleFire::Run& due : fire.runs) {
        fire_ats.emplace_back(due.fire_at);
        ats.push_back(due.run.options.at);
        keys.emplace_back(*due.run.options.idempotency_key);
    }
    Params params;
    params.int8(fire.id).int8(fire.version).time_array(fire_ats).time_array(ats).text_array(keys);
    params.optional(fire.next_fire_at, &Params::time).boolean(wake == Wake::in_transaction);
    return params;
}

}  // namespace

std::vector<StoredSchedule> PostgresStore::schedules(const std::optional<std::string>& only) {
    Params params;
    if (only) {
        params.text(*only);
    } else {
        params.null();
    }
    const Rows rows = call(sql::list_schedules, params, IfAnswerLost::repeat);
    std::vector<StoredSchedule> schedules;
    schedules.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        schedules.push_back(read_schedule<store::row::Schedule>(rows, i));
    return schedules;
}

// IfAnswerLost::repeat: a second call with the same version changes nothing.
bool PostgresStore::save_schedule(const StoredSchedule& schedule) {
    const bool saved =
        call(sql::save_schedule, save_params(schedule), IfAnswerLost::repeat).boolean(0, 0);
    if (saved) hub_.notify(seam::schedules_changed);
    return saved;
}

void PostgresStore::delete_schedule(const std::string& name) {
    Params params;
    params.text(name);
    call(sql::delete_schedule, params, IfAnswerLost::doubt);
}

DueSchedules PostgresStore::due_schedules(int limit) {
    Params params;
    params.int4(limit);
    const Rows rows = worker_call(sql::due_schedules, params, IfAnswerLost::repeat);
    using Row = store::row::DueSchedule;
    DueSchedules found;
    found.now = rows.time(0, Row::now_at);
    found.next_due = rows.optional_time(0, Row::next_due);
    found.waiting = rows.boolean(0, Row::waiting);
    for (int i = 0; i < rows.size(); ++i) {
        if (!rows.is_null(i, Row::schedule_id)) found.due.push_back(read_schedule<Row>(rows, i));
    }
    return found;
}

bool PostgresStore::fire_schedule(const ScheduleFire& fire) {
    const Wake wake = notifier_.next();
    const Rows rows = worker_call(sql::fire_schedule, fire_params(fire, wake), IfAnswerLost::doubt);
    using Row = sql::row::FireSchedule;
    if (!rows.boolean(0, Row::fired)) return false;
    if (!fire.runs.empty()) notify(QueueId(rows.id(0, Row::fired_workflow_id)), wake);
    return true;
}

}  // namespace pawl::postgres
