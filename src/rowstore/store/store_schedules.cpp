#include <fmt/format.h>

#include "model/enum_names.h"
#include "model/texts.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::DueSchedules;
using seam::ScheduleFire;
using seam::StoredSchedule;

namespace {

StoredSchedule read_schedule(const Rows& rows) {
    using Row = store::row::Schedule;
    StoredSchedule schedule;
    schedule.id = rows.integer(Row::schedule_id);
    schedule.version = rows.integer(Row::version);
    ScheduleInfo& info = schedule.info;
    info.name = rows.text(Row::schedule);
    info.workflow = rows.text(Row::workflow);
    info.cron = rows.text(Row::cron);
    info.time_zone = rows.text(Row::time_zone);
    info.params.text = rows.text(Row::params);
    info.start = rows.optional_time(Row::starts_at);
    info.end = rows.optional_time(Row::ends_at);
    info.jitter = Duration(rows.integer(Row::jitter_ms));
    info.priority = rows.number(Row::priority);
    info.overlap = model::stored_value(model::overlaps, rows.text(Row::overlap), "overlap policy");
    info.catch_up =
        model::stored_value(model::catch_ups, rows.text(Row::catch_up), "catch-up policy");
    info.catch_up_limit = rows.number(Row::catch_up_limit);
    info.paused = rows.flag(Row::paused);
    info.next_fire_at = rows.optional_time(Row::next_fire_at);
    info.last_fire_at = rows.optional_time(Row::last_fire_at);
    info.last_run = rows.id<RunId>(Row::last_run_id);
    info.waiting_fire_at = rows.optional_time(Row::waiting_fire_at);
    info.created_at = rows.time(Row::created_at);
    return schedule;
}

bool insert(Session& session, const ScheduleInfo& info, QueueId workflow, Timestamp now) {
    return session.execute(
               sql::insert_schedule,
               std::string_view(info.name),
               workflow,
               std::string_view(info.cron),
               std::string_view(info.time_zone),
               std::string_view(info.params.text),
               info.start,
               info.end,
               info.jitter.count(),
               info.priority,
               to_string(info.overlap),
               to_string(info.catch_up),
               info.catch_up_limit,
               info.paused,
               info.next_fire_at,
               now
           ) > 0;
}

bool update(Session& session, const StoredSchedule& schedule, QueueId workflow) {
    const ScheduleInfo& info = schedule.info;
    return session.execute(
               sql::update_schedule,
               schedule.id,
               schedule.version,
               workflow,
               std::string_view(info.cron),
               std::string_view(info.time_zone),
               std::string_view(info.params.text),
               info.start,
               info.end,
               info.jitter.count(),
               info.priority,
               to_string(info.overlap),
               to_string(info.catch_up),
               info.catch_up_limit,
               info.paused,
               info.next_fire_at,
               info.waiting_fire_at
           ) > 0;
}

bool is_live(Session& session, RunId run) {
    Rows rows = session.query(sql::run_is_live, run);
    return rows.next();
}

// The state of a schedule that firing changes.
struct Firing {
    Overlap overlap = Overlap::allow;
    std::optional<Timestamp> last_fire_at;
    RunId last_run;
    std::optional<Timestamp> waiting_fire_at;
};

std::optional<Firing> find_firing(Session& session, const ScheduleFire& fire) {
    using Row = sql::row::ScheduleToFire;
    Rows rows = session.query(sql::schedule_to_fire, fire.id, fire.version);
    if (!rows.next()) return std::nullopt;
    return Firing{
        model::stored_value(model::overlaps, rows.text(Row::overlap), "overlap policy"),
        rows.optional_time(Row::last_fire_at),
        rows.id<RunId>(Row::last_run_id),
        rows.optional_time(Row::waiting_fire_at)};
}

// Fire times have a separate column of keys, apart from those of users. A schedule that is deleted
// and created again finds the runs of its earlier fire times.
RunId create_run(WriteScope& scope, const NewRun& due) {
    NewRun run = due;
    const std::string key = run.options.idempotency_key.value();
    run.options.idempotency_key.reset();
    {
        const QueueId workflow = require_workflow(scope.session, run.workflow).id;
        Rows rows = scope.session.query(sql::run_of_fire_key, workflow, std::string_view(key));
        if (rows.next()) return rows.id<RunId>(0);
    }
    const RunId made = insert_runs(scope, std::span(&run, 1), BadInput::fails_the_run).front().run;
    scope.session.post(sql::set_fire_key, made, std::string_view(key));
    return made;
}

// Creates runs as far as the overlap policy allows. A run counts as live when it is created, so at
// most one of several runs is created under a policy that limits them.
void create_due_runs(WriteScope& scope, Firing& firing, const ScheduleFire& fire) {
    for (const ScheduleFire::Run& due : fire.runs) {
        if (firing.overlap == Overlap::allow || !is_live(scope.session, firing.last_run)) {
            firing.last_run = create_run(scope, due.run);
            firing.last_fire_at = due.fire_at;
            if (firing.waiting_fire_at == due.fire_at) firing.waiting_fire_at.reset();
        } else if (firing.overlap == Overlap::queue_one && !firing.waiting_fire_at) {
            firing.waiting_fire_at = due.fire_at;
        }
    }
}

}  // namespace

std::vector<StoredSchedule> RowStore::schedules(const std::optional<std::string>& only) {
    return read([&](Session& session) {
        std::vector<StoredSchedule> schedules;
        Rows rows = session.query(sql::list_schedules, only);
        while (rows.next()) schedules.push_back(read_schedule(rows));
        return schedules;
    });
}

bool RowStore::save_schedule(const StoredSchedule& schedule) {
    const bool saved = write([&](Session& session, Timestamp now) {
        const QueueId workflow = require_workflow(session, schedule.info.workflow).id;
        return schedule.id == 0 ? insert(session, schedule.info, workflow, now)
                                : update(session, schedule, workflow);
    });
    if (saved) hub_.notify(seam::schedules_changed);
    return saved;
}

void RowStore::delete_schedule(const std::string& name) {
    write([&](Session& session, Timestamp) {
        if (session.execute(sql::delete_schedule, std::string_view(name)) == 0)
            throw Error(
                ErrorCode::schedule_not_found, fmt::format(model::texts::schedule_missing, name)
            );
    });
}

DueSchedules RowStore::due_schedules(int limit) {
    return read([&](Session& session) {
        DueSchedules found;
        found.now = current_time(session);
        session.prefetch(sql::due_schedules, found.now, limit);
        session.prefetch(sql::next_schedule, found.now);
        {
            Rows rows = session.query(sql::due_schedules, found.now, limit);
            while (rows.next()) found.due.push_back(read_schedule(rows));
        }
        Rows rows = session.query(sql::next_schedule, found.now);
        if (rows.next()) {
            using Row = sql::row::NextSchedule;
            found.next_due = rows.optional_time(Row::next_fire_at);
            found.waiting = rows.flag(Row::waiting);
        }
        return found;
    });
}

bool RowStore::fire_schedule(const ScheduleFire& fire) {
    MessageIds numbers;
    const auto announce = [&](Session& session) {
        session.prefetch(sql::schedule_to_fire, fire.id, fire.version);
        // One for the key of the fire time, one for the run.
        for (const ScheduleFire::Run& due : fire.runs) {
            session.prefetch(sql::workflow_id, std::string_view(due.run.workflow));
            session.prefetch(sql::workflow_id, std::string_view(due.run.workflow));
        }
        numbers = MessageIds(session, fire.runs.size());
    };
    const auto create_runs = [&](WriteScope& scope) {
        scope.message_ids = numbers;
        auto firing = find_firing(scope.session, fire);
        if (!firing) return false;
        for (const ScheduleFire::Run& due : fire.runs) {
            if (due.fire_at > scope.now) return false;
        }
        create_due_runs(scope, *firing, fire);
        scope.session.post(
            sql::schedule_fired,
            fire.id,
            fire.next_fire_at,
            firing->last_fire_at,
            firing->last_run,
            firing->waiting_fire_at
        );
        return true;
    };
    return change(create_runs, announce);
}

}  // namespace pawl::rowstore
