-- Writes of the holder of a run, and the end of a run. The fence is a check of the message: with one writer nothing can
-- change between the check and the write.

-- name: holder(message_id, delivery) -> (worker_id, queue_id)
select worker_id, queue_id from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- The usual step: it succeeds and has no row yet. The fence is part of the statement. If it inserts nothing, `holder`
-- and `record_step` determine the reason. `or fail`: see settle.sql.
-- name: record_result(run_id, step_id, position, attempt, delivery, started_at, now, output)
insert or fail into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, output)
select @run_id, @step_id, @position, 'SUCCESS', @attempt, @delivery, worker_id, @started_at, @now, @output
from pawl_messages
where message_id = @run_id and delivery = @delivery and state = 'leased'
on conflict do nothing;

-- A result is never changed. RUNNING, which is written asynchronously, only replaces PENDING and PAUSED.
-- name: record_step(run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, wake_at, pause_message, pause_condition, input, output, error)
insert into pawl_steps
    (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at,
     wake_at, pause_message, pause_condition, input, output, error)
values
    (@run_id, @step_id, @position, @status, @attempt, @delivery, @worker_id, @started_at,
     @completed_at, @wake_at, @pause_message, @pause_condition, @input, @output, @error)
on conflict (run_id, step_id) do update set
    position = excluded.position, status = excluded.status, attempt = excluded.attempt,
    delivery = excluded.delivery, worker_id = excluded.worker_id,
    -- A sleep began when the run began to wait.
    started_at = case when wake_at is null then excluded.started_at else started_at end,
    completed_at = excluded.completed_at, wake_at = excluded.wake_at,
    pause_message = excluded.pause_message, pause_condition = excluded.pause_condition,
    input = coalesce(excluded.input, input), output = excluded.output, error = excluded.error
where status in ('PENDING', 'PAUSED') or (status = 'RUNNING' and excluded.status <> 'RUNNING');

-- name: suspend_message(message_id, state, visible_at, attempts, last_error)
update pawl_messages
set state = @state, visible_at = @visible_at, strikes = 0, attempts = @attempts, worker_id = null,
    last_error = coalesce(@last_error, last_error)
where message_id = @message_id;

-- name: suspend_run(run_id, status, paused_at, worker_id, now)
update pawl_runs
set status = @status, paused_at = @paused_at, worker_id = coalesce(@worker_id, worker_id),
    updated_at = @now
where run_id = @run_id;

-- A pause ends at the run's timeout at the latest.
-- name: run_deadline(run_id)
select r.started_at + w.run_timeout_ms * 1000
from pawl_runs r
join pawl_workflows w on w.workflow_id = r.workflow_id
where r.run_id = @run_id and r.started_at is not null and w.run_timeout_ms is not null;

-- The message of a run, whether leased or released, and the step with an answer.
-- name: answer(run_id, delivery, step_id) -> (state, attempts, worker_id, step_status, step_delivery, is_answerable, output, is_used)
select m.state, m.attempts, m.worker_id, s.status as step_status, s.delivery as step_delivery,
       s.pause_message is not null and s.wake_at is null as is_answerable, s.output,
       exists (select 1 from pawl_steps n where n.run_id = s.run_id and n.position > s.position) as is_used
from pawl_messages m
left join pawl_steps s on s.run_id = m.message_id and s.step_id = @step_id
where m.message_id = @run_id and m.delivery = @delivery and m.run_id is null;

-- name: pause_step_again(run_id, step_id, delivery, worker_id, pause_message)
update pawl_steps
set status = 'PAUSED', output = null, completed_at = null, delivery = @delivery,
    worker_id = @worker_id, pause_message = @pause_message
where run_id = @run_id and step_id = @step_id;

-- name: find_signal(run_id, step_id)
select payload from pawl_signals where run_id = @run_id and step_id = @step_id;

-- name: forget_signal(run_id, step_id)
delete from pawl_signals where run_id = @run_id and step_id = @step_id;

-- name: succeed_run(run_id, output, delivery, worker_id, now)
update pawl_runs
set status = 'SUCCESS', output = @output, completed_at = @now, updated_at = @now, paused_at = null,
    delivery = @delivery, worker_id = coalesce(@worker_id, worker_id)
where run_id = @run_id;

-- Sets the status ERROR or CANCELLED.
-- name: break_run(run_id, status, error, delivery, worker_id, now)
update pawl_runs
set status = @status, cancelled = case when @status = 'CANCELLED' then 1 end, error = @error,
    completed_at = @now, updated_at = @now, paused_at = null, delivery = @delivery,
    worker_id = coalesce(@worker_id, worker_id)
where run_id = @run_id;

-- name: cancel_open_steps(run_id, now)
update pawl_steps set status = 'CANCELLED', completed_at = @now
where run_id = @run_id and status in ('PENDING', 'RUNNING', 'PAUSED');

-- name: forget_signals(run_id)
delete from pawl_signals where run_id = @run_id;

-- name: add_event(run_id, kind, data, worker_id, delivery, now)
insert into pawl_events (run_id, kind, data, worker_id, delivery, at)
values (@run_id, @kind, @data, @worker_id, @delivery, @now);

-- name: dead_letter(run_id) -> (dead_letter_workflow_id, workflow, input, is_flow, audit)
select w.dead_letter_workflow_id, q.name as workflow, r.input, d.is_flow, d.audit
from pawl_runs r
join pawl_workflows w on w.workflow_id = r.workflow_id
join pawl_queues q on q.queue_id = r.workflow_id
join pawl_workflows d on d.workflow_id = w.dead_letter_workflow_id
where r.run_id = @run_id;

-- The reason why a write of a run found no lease.
-- name: run_end(run_id) -> (status, run_delivery, message_delivery, message_state)
select r.status, r.delivery as run_delivery, m.delivery as message_delivery, m.state as message_state
from pawl_runs r
left join pawl_messages m on m.message_id = r.run_id
where r.run_id = @run_id;

-- name: step_is_recorded(run_id, step_id, delivery, status)
select 1 from pawl_steps
where run_id = @run_id and step_id = @step_id and delivery = @delivery and status = @status;

-- The steps of a batch that have a row, for a JSON array of [run, step]. For sessions with costly round trips.
-- name: step_states(steps) -> (run_id, step_id, status)
select s.run_id, s.step_id, s.status
from json_each(@steps) l
cross join pawl_steps s on s.run_id = json_extract(l.value, '$[0]') and s.step_id = json_extract(l.value, '$[1]');
