-- Look-ups of runs, and what people do to them.

-- name: find_run(run_id)
select r.run_id, q.name, r.status, r.priority, r.max_attempts, coalesce(m.delivery, r.delivery),
       m.strikes, m.attempts, coalesce(m.worker_id, r.worker_id), r.parent_run_id, r.origin_run_id,
       r.forked_at, r.idempotency_key, r.input, r.output, r.error, m.last_error, m.visible_at,
       r.created_at, r.updated_at, r.started_at, r.paused_at, r.completed_at, r.deleted_at,
       r.deleted_reason, r.remaining_steps
from pawl_runs r
join pawl_queues q on q.queue_id = r.workflow_id
left join pawl_messages m on m.message_id = r.run_id
where r.run_id = @run_id;

-- name: find_end(run_id)
select status, deleted_at is not null, output from pawl_runs where run_id = @run_id;

-- name: run_tags(run_id)
select tag from pawl_run_tags where run_id = @run_id order by tag;

-- The lists: newest first, each through the index that its name says. What is not given is null.
-- name: list_runs(status, created_from, created_before, idempotency_key, include_deleted, before_run, max_rows)
select run_id, status from pawl_runs
where run_id < @before_run
  and (@status is null or status = @status)
  and (@created_from is null or created_at >= @created_from)
  and (@created_before is null or created_at < @created_before)
  and (@idempotency_key is null or idempotency_key = @idempotency_key)
  and (@include_deleted or deleted_at is null)
order by run_id desc limit @max_rows;

-- name: list_workflow_runs(workflow_id, status, created_from, created_before, idempotency_key, include_deleted, before_run, max_rows)
select run_id, status from pawl_runs indexed by pawl_runs_workflow
where workflow_id = @workflow_id and run_id < @before_run
  and (@status is null or status = @status)
  and (@created_from is null or created_at >= @created_from)
  and (@created_before is null or created_at < @created_before)
  and (@idempotency_key is null or idempotency_key = @idempotency_key)
  and (@include_deleted or deleted_at is null)
order by run_id desc limit @max_rows;

-- QUEUED, RUNNING, PAUSED.
-- name: list_live_runs(workflow_id, status, created_from, created_before, idempotency_key, include_deleted, before_run, max_rows)
select run_id, status from pawl_runs indexed by pawl_runs_live
where workflow_id = @workflow_id and completed_at is null and run_id < @before_run
  and status = @status
  and (@created_from is null or created_at >= @created_from)
  and (@created_before is null or created_at < @created_before)
  and (@idempotency_key is null or idempotency_key = @idempotency_key)
  and (@include_deleted or deleted_at is null)
order by run_id desc limit @max_rows;

-- ERROR, CANCELLED.
-- name: list_failed_runs(workflow_id, status, created_from, created_before, idempotency_key, include_deleted, before_run, max_rows)
select run_id, status from pawl_runs indexed by pawl_runs_failed
where workflow_id = @workflow_id and error is not null and run_id < @before_run
  and status = @status
  and (@created_from is null or created_at >= @created_from)
  and (@created_before is null or created_at < @created_before)
  and (@idempotency_key is null or idempotency_key = @idempotency_key)
  and (@include_deleted or deleted_at is null)
order by run_id desc limit @max_rows;

-- One at most: the key is unique among those that are not deleted.
-- name: list_keyed_runs(workflow_id, status, created_from, created_before, idempotency_key, before_run)
select run_id, status from pawl_runs indexed by pawl_runs_key
where workflow_id = @workflow_id and idempotency_key = @idempotency_key and deleted_at is null
  and run_id < @before_run
  and (@status is null or status = @status)
  and (@created_from is null or created_at >= @created_from)
  and (@created_before is null or created_at < @created_before);

-- name: list_tagged_runs(tag, workflow_id, status, created_from, created_before, idempotency_key, include_deleted, before_run, max_rows)
select r.run_id, r.status
from pawl_run_tags t
cross join pawl_runs r on r.run_id = t.run_id
where t.tag = @tag and t.run_id < @before_run
  and (@workflow_id is null or r.workflow_id = @workflow_id)
  and (@status is null or r.status = @status)
  and (@created_from is null or r.created_at >= @created_from)
  and (@created_before is null or r.created_at < @created_before)
  and (@idempotency_key is null or r.idempotency_key = @idempotency_key)
  and (@include_deleted or r.deleted_at is null)
order by t.run_id desc limit @max_rows;

-- name: list_steps(run_id)
select step_id, position, status, attempt, delivery, worker_id, input, output, error, pause_message,
       pause_condition, wake_at, started_at, completed_at, remaining_deps, initial_tasks,
       remaining_tasks, skip_reason
from pawl_steps where run_id = @run_id
order by position, step_id;

-- name: list_events(run_id)
select event_id, run_id, kind, data, worker_id, delivery, at from pawl_events
where run_id = @run_id
order by event_id;

-- All that it was made from, and all that was made from these.
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

-- What decides over an action.
-- name: run_state(run_id)
select r.status, r.deleted_at is not null, r.workflow_id, q.name, w.audit, r.priority,
       coalesce(m.delivery, r.delivery), r.remaining_steps is not null
from pawl_runs r
join pawl_queues q on q.queue_id = r.workflow_id
join pawl_workflows w on w.workflow_id = r.workflow_id
left join pawl_messages m on m.message_id = r.run_id
where r.run_id = @run_id;

-- name: step_state(run_id, step_id)
select status, wake_at is not null, position from pawl_steps
where run_id = @run_id and step_id = @step_id;

-- name: resume_step(run_id, step_id, output, now)
update pawl_steps set status = 'SUCCESS', output = @output, error = null, completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: resume_run(run_id, now)
update pawl_runs set status = 'RUNNING', paused_at = null, updated_at = @now where run_id = @run_id;

-- The first one wins.
-- name: keep_signal(run_id, step_id, payload, now)
insert or ignore into pawl_signals (run_id, step_id, payload, created_at)
values (@run_id, @step_id, @payload, @now);

-- What has strikes stays a due row, as after hand_back_message.
-- name: wake_message(message_id, now)
update pawl_messages
set state = case when strikes > 0 then 'waiting' else 'ready' end,
    visible_at = min(visible_at, @now)
where message_id = @message_id and state = 'waiting';

-- name: soft_delete_run(run_id, reason, now)
update pawl_runs set deleted_at = @now, deleted_reason = @reason, updated_at = @now
where run_id = @run_id;
