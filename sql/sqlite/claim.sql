-- The claim: sql/postgres/functions/queue/claim.sql describes the algorithm. SQLite has no functions, so
-- src/rowstore/claim/claim_transaction.cpp runs these statements in one transaction. Its indexes have no dead entries
-- to skip, so there are no floors.

-- name: claimable_queue(queue_id) -> (lease_ms, max_strikes, is_workflow, is_flow, audit)
select q.lease_ms, q.max_strikes, w.workflow_id is not null as is_workflow,
       coalesce(w.is_flow, 0) as is_flow, w.audit
from pawl_queues q
left join pawl_workflows w on w.workflow_id = q.queue_id
where q.queue_id = @queue_id and q.paused = 0;

-- Two skip scans: queues that have ready rows, and queues that have waiting or leased rows.
-- name: next_ready_queue(after_queue)
select queue_id from pawl_messages
where state = 'ready' and queue_id > @after_queue
order by queue_id limit 1;

-- name: next_timed_queue(after_queue)
select queue_id from pawl_messages
where state <> 'ready' and queue_id > @after_queue
order by queue_id limit 1;

-- name: top_priority(queue_id)
select priority from pawl_messages
where queue_id = @queue_id and state = 'ready'
order by priority desc, message_id limit 1;

-- name: next_due(queue_id, after_time)
select visible_at from pawl_messages
where queue_id = @queue_id and state <> 'ready' and visible_at > @after_time
order by visible_at limit 1;

-- name: due_messages(queue_id, now, max_messages) -> due_message
select message_id, priority, strikes, 0 as progressed, state = 'leased' as is_leased, delivery, worker_id from pawl_messages
where queue_id = @queue_id and state <> 'ready' and visible_at <= @now
order by visible_at limit @max_messages;

-- For the queue of a workflow. `progressed`: the lease ended after a step was recorded under it, which the message's
-- row does not show. The last three columns describe the lease that has ended, if any.
-- name: due_runs(queue_id, now, max_messages) -> due_message
select message_id, priority, strikes,
       state = 'leased' and exists (
           select 1 from pawl_steps s
           where s.run_id = pawl_messages.message_id and s.delivery = pawl_messages.delivery
             and s.status <> 'RUNNING'
       ) as progressed,
       state = 'leased' as is_leased, delivery, worker_id
from pawl_messages
where queue_id = @queue_id and state <> 'ready' and visible_at <= @now
order by visible_at limit @max_messages;

-- For the queue of a flow. For tasks whose lease has ended, attempts and max_attempts are the number of starts and the
-- limit given by the run's trigger. The last three columns as in due_runs.
-- name: due_tasks(queue_id, now, max_messages) -> due_task
select m.message_id, m.priority, m.strikes, m.run_id, m.step_index, m.task_index,
       case when m.state = 'leased' then (
           select t.attempts from pawl_tasks t
           where t.run_id = m.run_id and t.step_index = m.step_index
             and t.task_index = m.task_index
       ) end as attempts,
       case when m.state = 'leased' then (
           select r.max_attempts from pawl_runs r where r.run_id = m.run_id
       ) end as max_attempts,
       m.state = 'leased' as is_leased, m.delivery, m.worker_id
from pawl_messages m
where m.queue_id = @queue_id and m.state <> 'ready' and m.visible_at <= @now
order by m.visible_at limit @max_messages;

-- The lane statements are due_tasks, top_priority, ready_messages and next_due for one step of a flow. The index
-- pawl_messages_lane has ready rows by priority, and the others by time.
-- name: due_lane_tasks(queue_id, lane, now, max_messages) -> due_task
select m.message_id, m.priority, m.strikes, m.run_id, m.step_index, m.task_index,
       case when m.state = 'leased' then (
           select t.attempts from pawl_tasks t
           where t.run_id = m.run_id and t.step_index = m.step_index
             and t.task_index = m.task_index
       ) end as attempts,
       case when m.state = 'leased' then (
           select r.max_attempts from pawl_runs r where r.run_id = m.run_id
       ) end as max_attempts,
       m.state = 'leased' as is_leased, m.delivery, m.worker_id
from pawl_messages m
where m.queue_id = @queue_id and m.lane = @lane and (m.state = 'ready') = 0
  and (case when m.state = 'ready' then -m.priority else m.visible_at end) <= @now
order by case when m.state = 'ready' then -m.priority else m.visible_at end
limit @max_messages;

-- name: top_lane_priority(queue_id, lane)
select priority from pawl_messages
where queue_id = @queue_id and lane = @lane and (state = 'ready') = 1
order by case when state = 'ready' then -priority else visible_at end, message_id limit 1;

-- name: ready_lane_messages(queue_id, lane, priority, max_messages)
select message_id from pawl_messages
where queue_id = @queue_id and lane = @lane and (state = 'ready') = 1
  and (case when state = 'ready' then -priority else visible_at end) = -@priority
order by message_id limit @max_messages;

-- name: next_lane_due(queue_id, lane, after_time)
select visible_at from pawl_messages
where queue_id = @queue_id and lane = @lane and (state = 'ready') = 0
  and (case when state = 'ready' then -priority else visible_at end) > @after_time
order by case when state = 'ready' then -priority else visible_at end limit 1;

-- name: ready_messages(queue_id, priority, max_messages)
select message_id from pawl_messages
where queue_id = @queue_id and state = 'ready' and priority = @priority
order by message_id limit @max_messages;

-- The usual case: one queue without due rows. The claim reads the rows with the values that they will have, then
-- updates the same rows: within a transaction both statements find the same first rows. `returning` would first write
-- each row to a temporary table, which costs more than the second search. `or fail`: see settle.sql.
-- A task has its own lease, unless a registered worker claims it: a worker extends its leases.
-- name: read_ready(queue_id, max_messages) -> claimed_message
select message_id, queue_id, priority, delivery + 1 as delivery, strikes + 1 as strikes, attempts,
       enqueued_at, visible_at, lease_ms, last_error, payload, run_id, step_index, task_index
from pawl_messages
where queue_id = @queue_id and state = 'ready'
order by priority desc, message_id limit @max_messages;

-- name: claim_ready(queue_id, max_messages, now, lease_us, worker_id)
update or fail pawl_messages
set state = 'leased', delivery = delivery + 1, strikes = strikes + 1,
    visible_at = @now + coalesce(case when @worker_id is null then lease_ms * 1000 end, @lease_us), worker_id = @worker_id
where message_id in (
    select message_id from pawl_messages
    where queue_id = @queue_id and state = 'ready'
    order by priority desc, message_id limit @max_messages
);

-- The same for the share of one priority in one of several queues.
-- name: read_level(queue_id, priority, max_messages) -> claimed_message
select message_id, queue_id, priority, delivery + 1 as delivery, strikes + 1 as strikes, attempts,
       enqueued_at, visible_at, lease_ms, last_error, payload, run_id, step_index, task_index
from pawl_messages
where queue_id = @queue_id and state = 'ready' and priority = @priority
order by message_id limit @max_messages;

-- name: claim_level(queue_id, priority, max_messages, now, lease_us, worker_id)
update or fail pawl_messages
set state = 'leased', delivery = delivery + 1, strikes = strikes + 1,
    visible_at = @now + coalesce(case when @worker_id is null then lease_ms * 1000 end, @lease_us), worker_id = @worker_id
where message_id in (
    select message_id from pawl_messages
    where queue_id = @queue_id and state = 'ready' and priority = @priority
    order by message_id limit @max_messages
);

-- The same for a single row.
-- name: claim_message(message_id, progressed, now, lease_us, worker_id)
update pawl_messages
set state = 'leased', delivery = delivery + 1, worker_id = @worker_id,
    visible_at = @now + coalesce(case when @worker_id is null then lease_ms * 1000 end, @lease_us),
    strikes = case when @progressed then 1 else strikes + 1 end
where message_id = @message_id;

-- name: claimed_message(message_id) -> claimed_message
select message_id, queue_id, priority, delivery, strikes, attempts, enqueued_at, visible_at,
       lease_ms, last_error, payload, run_id, step_index, task_index
from pawl_messages where message_id = @message_id;

-- The run of a claimed message.
-- name: claimed_run(run_id) -> claimed_run
select run_id, max_attempts, started_at, origin_run_id is not null as is_copy, status, input
from pawl_runs where run_id = @run_id;

-- The same for the messages that read_ready returns, for sessions with costly round trips.
-- name: ready_runs(queue_id, max_messages) -> claimed_run
select r.run_id, r.max_attempts, r.started_at, r.origin_run_id is not null as is_copy, r.status, r.input
from (
    select message_id from pawl_messages
    where queue_id = @queue_id and state = 'ready'
    order by priority desc, message_id limit @max_messages
) m
cross join pawl_runs r on r.run_id = m.message_id;

-- For a QUEUED run: changes no indexed column.
-- name: start_run(run_id, worker_id, now)
update pawl_runs
set status = 'RUNNING', started_at = coalesce(started_at, @now), worker_id = @worker_id, updated_at = @now
where run_id = @run_id;

-- The same for the first task of a flow's run.
-- name: start_flow_run(run_id, worker_id, now)
update pawl_runs
set status = 'RUNNING', started_at = coalesce(started_at, @now), worker_id = @worker_id, updated_at = @now,
    flow_started = 1
where run_id = @run_id;

-- name: continue_paused_run(run_id, worker_id, now)
update pawl_runs
set status = 'RUNNING', started_at = coalesce(started_at, @now), paused_at = null, worker_id = @worker_id,
    updated_at = @now
where run_id = @run_id;

-- name: recorded_steps(run_id) -> (step_id, position, status, attempt, output, error, wake_at)
select step_id, position, status, attempt, output, error, wake_at from pawl_steps
where run_id = @run_id and status <> 'CANCELLED'
order by position, step_id;
