-- New runs. Each has a message with the same id.

-- name: run_of_key(workflow_id, idempotency_key)
select run_id from pawl_runs
where workflow_id = @workflow_id and idempotency_key = @idempotency_key and deleted_at is null;

-- Fire times of schedules have a separate column of keys.
-- name: run_of_fire_key(workflow_id, fire_key)
select run_id from pawl_runs
where workflow_id = @workflow_id and fire_key = @fire_key and deleted_at is null;

-- name: set_fire_key(run_id, fire_key)
update pawl_runs set fire_key = @fire_key where run_id = @run_id;

-- name: insert_run(run_id, workflow_id, priority, max_attempts, parent_run_id, idempotency_key, now, input)
insert into pawl_runs
    (run_id, workflow_id, status, priority, max_attempts, parent_run_id, idempotency_key,
     created_at, updated_at, input)
values
    (@run_id, @workflow_id, 'QUEUED', @priority, @max_attempts, @parent_run_id, @idempotency_key,
     @now, @now, @input);

-- name: insert_tag(tag, run_id)
insert or ignore into pawl_run_tags (tag, run_id) values (@tag, @run_id);

-- A retry or, with forked_at, a fork.
-- name: copy_run(run_id, origin, forked_at, now)
insert into pawl_runs
    (run_id, workflow_id, status, priority, max_attempts, parent_run_id, origin_run_id, forked_at,
     created_at, updated_at, input)
select @run_id, r.workflow_id, 'QUEUED', r.priority, r.max_attempts, r.parent_run_id, r.run_id,
       @forked_at, @now, @now, r.input
from pawl_runs r where r.run_id = @origin;

-- name: copy_tags(run_id, origin)
insert into pawl_run_tags (tag, run_id)
select t.tag, @run_id from pawl_run_tags t where t.run_id = @origin;

-- name: copy_steps(run_id, origin, before_position)
insert into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at,
     wake_at, pause_message, pause_condition, input, output, error)
select @run_id, s.step_id, s.position, s.status, s.attempt, 0, s.worker_id, s.started_at,
       s.completed_at, s.wake_at, s.pause_message, s.pause_condition, s.input, s.output, s.error
from pawl_steps s
where s.run_id = @origin and s.status in ('SUCCESS', 'SKIPPED')
  and (@before_position is null or s.position < @before_position);
