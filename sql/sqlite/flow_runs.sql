-- Steps and tasks of a run of a flow, from its start to its end. src/rowstore/flow/flow_engine.cpp runs these
-- statements.

-- A run of a flow has no message, but its id comes from the same sequence, so no run has the id of a message.
-- name: take_message_id()
update sqlite_sequence set seq = seq + 1 where name = 'pawl_messages';

-- name: take_first_message_id()
insert into sqlite_sequence (name, seq) values ('pawl_messages', 1);

-- name: taken_message_id()
select seq from sqlite_sequence where name = 'pawl_messages';

-- name: insert_flow_run(run_id, workflow_id, priority, max_attempts, parent_run_id, idempotency_key, remaining_steps, now, input)
insert into pawl_runs
    (run_id, workflow_id, status, priority, max_attempts, parent_run_id, idempotency_key,
     remaining_steps, created_at, updated_at, input)
values
    (@run_id, @workflow_id, 'QUEUED', @priority, @max_attempts, @parent_run_id, @idempotency_key,
     @remaining_steps, @now, @now, @input);

-- A root step with one task and no condition starts when its row is created. `or fail`: see settle.sql.
-- name: insert_run_steps(run_id, workflow_id, now)
insert or fail into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, started_at, remaining_deps,
     initial_tasks, remaining_tasks)
select @run_id, f.step_slug, f.step_index, case when f.starts then 'RUNNING' else 'PENDING' end,
       0, 0, case when f.starts then @now end, f.deps_count, case when f.starts then 1 end,
       case when f.starts then 1 end
from (
    select step_slug, step_index, deps_count,
           deps_count = 0 and step_type = 'single' and required_input_pattern is null
               and forbidden_input_pattern is null as starts
    from pawl_flow_steps where workflow_id = @workflow_id
) f;

-- name: flow_run(run_id) -> (workflow_id, status, priority, max_attempts, remaining_steps, worker_id)
select workflow_id, status, priority, max_attempts, remaining_steps, worker_id from pawl_runs
where run_id = @run_id and remaining_steps is not null;

-- name: run_input(run_id)
select input from pawl_runs where run_id = @run_id;

-- name: flow_step(run_id, step_id) -> (status, remaining_deps, remaining_tasks, output)
select status, remaining_deps, remaining_tasks, output from pawl_steps
where run_id = @run_id and step_id = @step_id;

-- name: count_steps(run_id)
select count(*) from pawl_steps where run_id = @run_id;

-- name: set_remaining_steps(run_id, remaining_steps, now)
update pawl_runs set remaining_steps = @remaining_steps, updated_at = @now where run_id = @run_id;

-- name: set_remaining_deps(run_id, step_id, remaining_deps)
update pawl_steps set remaining_deps = @remaining_deps
where run_id = @run_id and step_id = @step_id;

-- name: set_remaining_tasks(run_id, step_id, remaining_tasks)
update pawl_steps set remaining_tasks = @remaining_tasks
where run_id = @run_id and step_id = @step_id;

-- Only a PENDING step. A step that was added to the flow after the start of the run has no row.
-- name: start_flow_step(run_id, step_id, tasks, now)
update pawl_steps
set status = 'RUNNING', remaining_deps = 0, started_at = @now, initial_tasks = @tasks,
    remaining_tasks = @tasks
where run_id = @run_id and step_id = @step_id and status = 'PENDING';

-- name: succeed_flow_step(run_id, step_id, output, now)
update pawl_steps
set status = 'SUCCESS', output = @output, remaining_tasks = 0, completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: succeed_empty_map(run_id, step_id, now)
update pawl_steps
set status = 'SUCCESS', output = '[]', remaining_deps = 0, initial_tasks = 0, remaining_tasks = 0,
    started_at = @now, completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: skip_flow_step(run_id, step_id, skip_reason, error, now)
update pawl_steps
set status = 'SKIPPED', skip_reason = @skip_reason, error = @error, remaining_deps = 0,
    completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: skip_pending_step(run_id, step_id, now)
update pawl_steps
set status = 'SKIPPED', skip_reason = 'dependency_skipped', completed_at = @now
where run_id = @run_id and step_id = @step_id and status = 'PENDING';

-- name: fail_flow_step(run_id, step_id, error, now)
update pawl_steps
set status = 'ERROR', error = @error, remaining_deps = 0, completed_at = @now
where run_id = @run_id and step_id = @step_id;

-- name: keep_step_output(run_id, step_id, output)
update pawl_steps set output = @output where run_id = @run_id and step_id = @step_id;

-- name: succeed_flow_run(run_id, output, now)
update pawl_runs
set status = 'SUCCESS', output = @output, remaining_steps = 0, completed_at = @now,
    started_at = coalesce(started_at, @now), updated_at = @now, flow_started = null
where run_id = @run_id;

-- Sets the status ERROR or CANCELLED.
-- name: break_flow_run(run_id, status, error, remaining_steps, now)
update pawl_runs
set status = @status, cancelled = case when @status = 'CANCELLED' then 1 end, error = @error,
    remaining_steps = @remaining_steps, completed_at = @now,
    updated_at = @now, flow_started = null
where run_id = @run_id;

-- Deletes the messages of open tasks, of one step or of all steps.
-- name: delete_open_messages(run_id, first_step, last_step)
delete from pawl_messages
where message_id in (
    select t.message_id from pawl_tasks t
    where t.run_id = @run_id and t.step_index between @first_step and @last_step
      and t.status in ('QUEUED', 'RUNNING')
);

-- Ends these tasks with the given status.
-- name: close_open_tasks(run_id, first_step, last_step, status, now)
update pawl_tasks set status = @status, completed_at = @now
where run_id = @run_id and step_index between @first_step and @last_step
  and status in ('QUEUED', 'RUNNING');

-- A task that waits for a run is RUNNING and cannot be woken.
-- name: wake_tasks(run_id, now)
update pawl_messages
set state = case when strikes > 0 then 'waiting' else 'ready' end,
    visible_at = min(visible_at, @now)
where state = 'waiting' and message_id in (
    select t.message_id from pawl_tasks t where t.run_id = @run_id and t.status = 'QUEUED'
);

-- A retry or a fork: like copy_run, with the number of steps that are not copied.
-- name: copy_flow_run(run_id, origin, forked_at, remaining_steps, now)
insert into pawl_runs
    (run_id, workflow_id, status, priority, max_attempts, parent_run_id, origin_run_id, forked_at,
     remaining_steps, created_at, updated_at, input)
select @run_id, r.workflow_id, 'QUEUED', r.priority, r.max_attempts, r.parent_run_id, r.run_id,
       @forked_at, @remaining_steps, @now, @now, r.input
from pawl_runs r where r.run_id = @origin;

-- name: step_statuses(run_id) -> (position, status, skip_reason)
select position, status, skip_reason from pawl_steps where run_id = @run_id order by position;

-- name: copy_flow_step(run_id, origin, step_id)
insert into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at,
     remaining_deps, initial_tasks, remaining_tasks, skip_reason, input, output, error)
select @run_id, s.step_id, s.position, s.status, s.attempt, 0, s.worker_id, s.started_at,
       s.completed_at, s.remaining_deps, s.initial_tasks, s.remaining_tasks, s.skip_reason, s.input,
       s.output, s.error
from pawl_steps s
where s.run_id = @origin and s.step_id = @step_id;

-- name: copy_tasks(run_id, origin, step_index)
insert into pawl_tasks
    (run_id, step_index, task_index, message_id, status, attempts, worker_id, queued_at, started_at,
     completed_at, input, output, error)
select @run_id, t.step_index, t.task_index, t.message_id, t.status, t.attempts, t.worker_id,
       t.queued_at, t.started_at, t.completed_at, t.input, t.output, t.error
from pawl_tasks t
where t.run_id = @origin and t.step_index = @step_index;

-- name: insert_pending_step(run_id, step_id, position, remaining_deps)
insert into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, remaining_deps)
values (@run_id, @step_id, @position, 'PENDING', 0, 0, @remaining_deps);
