-- Schedules. A statement that fires or changes a schedule names the version that was read.

-- shared: list_schedules(only_schedule) -> schedule
select s.schedule_id, s.version, s.name as schedule, q.name as workflow, s.cron, s.time_zone,
       s.input as params, s.starts_at, s.ends_at,
       s.jitter_ms, s.priority, s.overlap, s.catch_up, s.catch_up_limit, s.paused, s.next_fire_at,
       s.last_fire_at, s.last_run_id, s.waiting_fire_at, s.created_at
from pawl_schedules s
join pawl_queues q on q.queue_id = s.workflow_id
where @only_schedule is null or s.name = @only_schedule
order by s.name;

-- name: insert_schedule(name, workflow_id, cron, time_zone, input, starts_at, ends_at, jitter_ms, priority, overlap, catch_up, catch_up_limit, paused, next_fire_at, now)
insert or ignore into pawl_schedules
    (name, workflow_id, cron, time_zone, input, starts_at, ends_at, jitter_ms, priority, overlap,
     catch_up, catch_up_limit, paused, next_fire_at, created_at)
values
    (@name, @workflow_id, @cron, @time_zone, @input, @starts_at, @ends_at, @jitter_ms, @priority,
     @overlap, @catch_up, @catch_up_limit, @paused, @next_fire_at, @now);

-- name: update_schedule(schedule_id, version, workflow_id, cron, time_zone, input, starts_at, ends_at, jitter_ms, priority, overlap, catch_up, catch_up_limit, paused, next_fire_at, waiting_fire_at)
update pawl_schedules
set version = version + 1, workflow_id = @workflow_id, cron = @cron, time_zone = @time_zone,
    input = @input, starts_at = @starts_at, ends_at = @ends_at, jitter_ms = @jitter_ms,
    priority = @priority, overlap = @overlap, catch_up = @catch_up,
    catch_up_limit = @catch_up_limit, paused = @paused, next_fire_at = @next_fire_at,
    waiting_fire_at = @waiting_fire_at
where schedule_id = @schedule_id and version = @version;

-- name: delete_schedule(name)
delete from pawl_schedules where name = @name;

-- A schedule is due if a fire time has arrived, or if a delayed fire can start because the earlier run has ended.
-- name: due_schedules(now, max_rows) -> schedule
select s.schedule_id, s.version, s.name as schedule, q.name as workflow, s.cron, s.time_zone,
       s.input as params, s.starts_at, s.ends_at,
       s.jitter_ms, s.priority, s.overlap, s.catch_up, s.catch_up_limit, s.paused, s.next_fire_at,
       s.last_fire_at, s.last_run_id, s.waiting_fire_at, s.created_at
from pawl_schedules s
join pawl_queues q on q.queue_id = s.workflow_id
where s.schedule_id in (
    select d.schedule_id from (
        select d.schedule_id from pawl_schedules d indexed by pawl_schedules_due
        where d.paused = 0 and d.next_fire_at is not null and d.next_fire_at <= @now
        order by d.next_fire_at limit @max_rows
    ) d
    union
    select w.schedule_id from (
        select w.schedule_id from pawl_schedules w indexed by pawl_schedules_waiting
        where w.waiting_fire_at is not null and w.paused = 0
          and not exists (select 1 from pawl_runs r
                          where r.run_id = w.last_run_id and r.completed_at is null)
        limit @max_rows
    ) w
);

-- name: next_schedule(now) -> (next_fire_at, waiting)
select min(d.next_fire_at) as next_fire_at,
       exists (select 1 from pawl_schedules w indexed by pawl_schedules_waiting
               where w.waiting_fire_at is not null and w.paused = 0) as waiting
from pawl_schedules d indexed by pawl_schedules_due
where d.paused = 0 and d.next_fire_at is not null and d.next_fire_at > @now;

-- name: schedule_to_fire(schedule_id, version) -> (overlap, last_fire_at, last_run_id, waiting_fire_at)
select overlap, last_fire_at, last_run_id, waiting_fire_at from pawl_schedules
where schedule_id = @schedule_id and version = @version and paused = 0;

-- name: schedule_fired(schedule_id, next_fire_at, last_fire_at, last_run_id, waiting_fire_at)
update pawl_schedules
set version = version + 1, next_fire_at = @next_fire_at, last_fire_at = @last_fire_at,
    last_run_id = @last_run_id, waiting_fire_at = @waiting_fire_at
where schedule_id = @schedule_id;

-- name: run_is_live(run_id)
select 1 from pawl_runs where run_id = @run_id and completed_at is null;
