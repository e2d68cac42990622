-- Lookups of runs, and operations of users.

-- name: find_run(run_id) -> run
select r.run_id, q.name as workflow, r.status, r.priority, r.max_attempts,
       coalesce(m.delivery, r.delivery) as delivery, m.strikes, m.attempts,
       coalesce(m.worker_id, r.worker_id) as worker_id, r.parent_run_id, r.origin_run_id, r.forked_at,
       coalesce(r.idempotency_key, r.fire_key) as idempotency_key,
       (select json_group_array(t.tag)
        from (select tag from pawl_run_tags where run_id = @run_id order by tag) t) as tags, r.input, r.output, r.error, m.last_error, m.visible_at,
       r.created_at, r.updated_at, r.started_at, r.paused_at, r.completed_at, r.deleted_at,
       r.deleted_reason, r.remaining_steps
from pawl_runs r
join pawl_queues q on q.queue_id = r.workflow_id
left join pawl_messages m on m.message_id = r.run_id
where r.run_id = @run_id;

-- shared: find_end(run_id) -> run_end
select status, deleted_at is not null as deleted, output from pawl_runs where run_id = @run_id;

-- The lists: newest first, after a position, each through the index of the same name.
-- name: list_runs(include_deleted, before_run, max_rows) -> found_run
select run_id, status, created_at from pawl_runs
where run_id < @before_run and (@include_deleted or deleted_at is null)
order by run_id desc limit @max_rows;

-- The time of the position of a page. If the run was pruned, the time of the run before it.
-- name: run_created(run_id)
select created_at from pawl_runs where run_id <= @run_id order by run_id desc limit 1;

-- name: list_group(run_group, workflow_id, status, created_from, include_deleted, before_at, before_run, max_rows) -> found_run
select run_id, status, created_at from pawl_runs indexed by pawl_runs_group
where run_group = @run_group and workflow_id = @workflow_id and created_at >= @created_from
  and (created_at, run_id) < (@before_at, @before_run)
  and (@status is null or status = @status)
  and (@include_deleted or deleted_at is null)
order by created_at desc, run_id desc limit @max_rows;

-- The RUNNING runs of a flow.
-- name: list_running_flow(workflow_id, created_from, include_deleted, before_at, before_run, max_rows) -> found_run
select run_id, status, created_at from pawl_runs indexed by pawl_runs_flow_started
where flow_started = 1 and workflow_id = @workflow_id and created_at >= @created_from
  and (created_at, run_id) < (@before_at, @before_run)
  and status = 'RUNNING'
  and (@include_deleted or deleted_at is null)
order by created_at desc, run_id desc limit @max_rows;

-- At most one row: the key is unique among runs that are not deleted.
-- name: list_keyed_runs(workflow_id, idempotency_key, status, created_from, before_at, before_run, max_rows) -> found_run
select run_id, status, created_at from pawl_runs indexed by pawl_runs_key
where workflow_id = @workflow_id and idempotency_key = @idempotency_key and deleted_at is null
  and created_at >= @created_from and (created_at, run_id) < (@before_at, @before_run)
  and (@status is null or status = @status)
limit @max_rows;

-- name: list_deleted_keyed_runs(workflow_id, idempotency_key, status, created_from, before_at, before_run, max_rows) -> found_run
select run_id, status, created_at from pawl_runs indexed by pawl_runs_deleted_key
where workflow_id = @workflow_id and idempotency_key = @idempotency_key and deleted_at is not null
  and created_at >= @created_from and (created_at, run_id) < (@before_at, @before_run)
  and (@status is null or status = @status)
order by created_at desc, run_id desc limit @max_rows;

-- Runs of a code-first workflow that were delivered and have not ended; they include all RUNNING runs.
-- name: started_runs(queue_id, max_rows)
select message_id from (
    select message_id from pawl_messages indexed by pawl_messages_due
    where queue_id = @queue_id and state <> 'ready'
    union all
    select message_id from pawl_messages indexed by pawl_messages_returned
    where queue_id = @queue_id and state = 'ready' and delivery > 0
)
limit @max_rows;

-- One run, if it matches the filter.
-- name: match_run(run_id, workflow_id, status, created_from, idempotency_key, include_deleted, before_at, before_run) -> found_run
select run_id, status, created_at from pawl_runs
where run_id = @run_id and (@workflow_id is null or workflow_id = @workflow_id)
  and created_at >= @created_from and (created_at, run_id) < (@before_at, @before_run)
  and (@status is null or status = @status)
  and (@idempotency_key is null or idempotency_key = @idempotency_key)
  and (@include_deleted or deleted_at is null);

-- In the order of ids; reads at most `reading` runs with the tag.
-- name: list_tagged_runs(tag, workflow_id, status, created_from, created_before, idempotency_key, include_deleted, before_run, reading, max_rows) -> found_run
select r.run_id, r.status, r.created_at
from (
    select run_id from pawl_run_tags where tag = @tag and run_id < @before_run
    order by run_id desc limit @reading
) t
cross join pawl_runs r on r.run_id = t.run_id
where (@workflow_id is null or r.workflow_id = @workflow_id)
  and (@status is null or r.status = @status)
  and r.created_at >= @created_from and r.created_at < @created_before
  and (@idempotency_key is null or r.idempotency_key = @idempotency_key)
  and (@include_deleted or r.deleted_at is null)
order by t.run_id desc limit @max_rows;

-- name: has_more_tagged(tag, before_run, behind)
select 1 from pawl_run_tags where tag = @tag and run_id < @before_run
order by run_id desc limit 1 offset @behind;

-- name: has_tag(tag, run_id)
select 1 from pawl_run_tags where tag = @tag and run_id = @run_id;

-- shared: list_steps(run_id) -> step
select step_id, position, status, attempt, delivery, worker_id, input, output, error, pause_message,
       pause_condition, wake_at, started_at, completed_at, remaining_deps, initial_tasks,
       remaining_tasks, skip_reason,
       case when status = 'PAUSED' then
           (select c.run_id from pawl_calls c
            where c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null)
       end as called_run_id
from pawl_steps s where run_id = @run_id
order by position, step_id;

-- shared: list_events(run_id) -> event
select event_id, run_id, kind, data, worker_id, delivery, at from pawl_events
where run_id = @run_id
order by event_id;

-- All runs from which it was created, and all runs created from these.
-- name: lineage(run_id)
with recursive
    ancestors (run_id) as (
        select @run_id
        union
        select r.origin_run_id
        from ancestors a
        join pawl_runs r on r.run_id = a.run_id
        where r.origin_run_id is not null
    ),
    family (run_id) as (
        select a.run_id from ancestors a
        union
        select r.run_id from family f join pawl_runs r on r.origin_run_id = f.run_id
    )
select f.run_id from family f order by f.run_id;

-- The state that operations check.
-- name: run_state(run_id) -> (status, is_deleted, workflow_id, workflow, audit, priority, delivery, is_flow)
select r.status, r.deleted_at is not null as is_deleted, r.workflow_id, q.name as workflow, w.audit, r.priority,
       coalesce(m.delivery, r.delivery) as delivery, r.remaining_steps is not null as is_flow
from pawl_runs r
join pawl_queues q on q.queue_id = r.workflow_id
join pawl_workflows w on w.workflow_id = r.workflow_id
left join pawl_messages m on m.message_id = r.run_id
where r.run_id = @run_id;

-- name: step_state(run_id, step_id) -> (status, is_sleep, position)
select status, wake_at is not null as is_sleep, position from pawl_steps
where run_id = @run_id and step_id = @step_id;

-- The run for which a step waits.
-- name: called_run(run_id, step_id)
select run_id from pawl_calls
where caller_run_id = @run_id and caller_step = @step_id and caller_task is null;

-- The steps at which a run waits.
-- name: paused_steps(run_id) -> (step_id, is_sleep, called_run_id)
select s.step_id, s.wake_at is not null as is_sleep, c.run_id as called_run_id
from pawl_steps s
left join pawl_calls c
    on c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null
where s.run_id = @run_id and s.status = 'PAUSED'
order by s.position;

-- An answer is progress: it resets the attempts of the run.
-- name: reset_attempts(message_id)
update pawl_messages set attempts = 0 where message_id = @message_id;

-- name: resume_step(run_id, step_id, output, now)
update pawl_steps set status = 'SUCCESS', output = @output, error = null, completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: resume_run(run_id, now)
update pawl_runs set status = 'RUNNING', paused_at = null, updated_at = @now where run_id = @run_id;

-- The first signal wins.
-- name: keep_signal(run_id, step_id, payload, now)
insert or ignore into pawl_signals (run_id, step_id, payload, created_at)
values (@run_id, @step_id, @payload, @now);

-- A message with strikes stays a due row, as after hand_back_message.
-- name: wake_message(message_id, now)
update pawl_messages
set state = case when strikes > 0 then 'waiting' else 'ready' end,
    visible_at = min(visible_at, @now)
where message_id = @message_id and state = 'waiting';

-- name: soft_delete_run(run_id, reason, now)
update pawl_runs set deleted_at = @now, deleted_reason = @reason, updated_at = @now
where run_id = @run_id;
