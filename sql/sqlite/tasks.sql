-- Tasks: the work of a flow's steps. Each has a message in the flow's queue until it ends.

-- name: insert_task_message(queue_id, priority, state, visible_at, now, run_id, step_index, task_index, lease_ms, lane)
insert into pawl_messages
    (queue_id, priority, state, visible_at, enqueued_at, payload, run_id, step_index, task_index,
     lease_ms, lane)
values
    (@queue_id, @priority, @state, @visible_at, @now, 'null', @run_id, @step_index, @task_index,
     @lease_ms, @lane);

-- name: insert_task(run_id, step_index, task_index, message_id, now, input)
insert into pawl_tasks
    (run_id, step_index, task_index, message_id, status, queued_at, input)
values (@run_id, @step_index, @task_index, @message_id, 'QUEUED', @now, @input);

-- The task that a claim starts. The input is that of the run, unless the task has an element of a map.
-- name: claimed_task(run_id, step_index, task_index) -> (attempts, run_status, max_attempts, input, worker_id)
select t.attempts, r.status as run_status, r.max_attempts, coalesce(t.input, r.input) as input, r.worker_id
from pawl_tasks t
cross join pawl_runs r on r.run_id = t.run_id
where t.run_id = @run_id and t.step_index = @step_index and t.task_index = @task_index;

-- name: start_task(run_id, step_index, task_index, delivery, worker_id, now)
update pawl_tasks
set status = 'RUNNING', attempts = attempts + 1, delivery = @delivery, worker_id = @worker_id,
    started_at = @now
where run_id = @run_id and step_index = @step_index and task_index = @task_index;

-- Undoes the start of a task that was released.
-- name: unstart_task(run_id, step_index, task_index)
update pawl_tasks set status = 'QUEUED', attempts = max(attempts - 1, 0)
where run_id = @run_id and step_index = @step_index and task_index = @task_index
  and status = 'RUNNING';

-- name: held_task(message_id, delivery) -> task_key
select queue_id, run_id, step_index, task_index from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and run_id is not null;

-- name: find_task(run_id, step_index, task_index) -> (status, attempts, delivery, message_id, worker_id)
select status, attempts, delivery, message_id, worker_id from pawl_tasks
where run_id = @run_id and step_index = @step_index and task_index = @task_index;

-- name: succeed_task(run_id, step_index, task_index, output, now)
update pawl_tasks set status = 'SUCCESS', output = @output, completed_at = @now
where run_id = @run_id and step_index = @step_index and task_index = @task_index;

-- name: fail_task(run_id, step_index, task_index, error, now)
update pawl_tasks set status = 'ERROR', error = @error, completed_at = @now
where run_id = @run_id and step_index = @step_index and task_index = @task_index;

-- name: requeue_task(run_id, step_index, task_index, error)
update pawl_tasks set status = 'QUEUED', error = @error
where run_id = @run_id and step_index = @step_index and task_index = @task_index;

-- name: requeue_message(message_id, state, visible_at, last_error)
update pawl_messages
set state = @state, visible_at = @visible_at, strikes = 0, attempts = attempts + 1,
    worker_id = null, last_error = @last_error
where message_id = @message_id;

-- Postpones the message of a task until the run for which it waits has ended.
-- name: put_off_message(message_id, visible_at)
update pawl_messages
set state = 'waiting', visible_at = @visible_at, strikes = 0, worker_id = null
where message_id = @message_id;

-- name: task_outputs(run_id, step_index)
select output from pawl_tasks where run_id = @run_id and step_index = @step_index
order by task_index;

-- shared: list_tasks(run_id) -> task
select s.step_slug, t.task_index, t.status, t.message_id, t.attempts, t.delivery, t.worker_id,
       t.input, t.output, t.error, t.queued_at, t.started_at, t.completed_at
from pawl_runs r
cross join pawl_tasks t on t.run_id = r.run_id
cross join pawl_flow_steps s on s.workflow_id = r.workflow_id and s.step_index = t.step_index
where r.run_id = @run_id
order by t.step_index, t.task_index;
