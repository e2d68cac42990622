-- Lost work: live runs, and open tasks of flows, that have no message. Live runs are read page by page in the order of the
-- index pawl_runs_group, never the history.

-- name: live_runs_page(after_workflow, after_run, max_rows) -> (run_id, workflow_id, is_flow, workflow, is_lost)
with position (workflow_id, created_at, run_id) as (
    select @after_workflow, coalesce((select created_at from pawl_runs where run_id = @after_run), 0), @after_run
), live as (
    select * from (
        select run_id, workflow_id, created_at, remaining_steps is not null as is_flow
        from pawl_runs indexed by pawl_runs_group
        where run_group = 0 and (workflow_id, created_at, run_id) > (select * from position)
        order by workflow_id, created_at, run_id limit @max_rows
    )
    union all
    select * from (
        select run_id, workflow_id, created_at, remaining_steps is not null as is_flow
        from pawl_runs indexed by pawl_runs_group
        where run_group = 1 and (workflow_id, created_at, run_id) > (select * from position)
        order by workflow_id, created_at, run_id limit @max_rows
    )
)
select l.run_id, l.workflow_id, l.is_flow, q.name as workflow,
       not l.is_flow and not exists (select 1 from pawl_messages m where m.message_id = l.run_id) as is_lost
from live l
cross join pawl_queues q on q.queue_id = l.workflow_id
order by l.workflow_id, l.created_at, l.run_id
limit @max_rows;

-- name: lost_tasks(run_id) -> (step_index, task_index, step_slug)
select t.step_index, t.task_index, s.step_slug
from pawl_tasks t
cross join pawl_runs r on r.run_id = t.run_id
cross join pawl_flow_steps s on s.workflow_id = r.workflow_id and s.step_index = t.step_index
where t.run_id = @run_id and t.status in ('QUEUED', 'RUNNING')
  and not exists (select 1 from pawl_messages m where m.message_id = t.message_id)
order by t.step_index, t.task_index;

-- name: has_message(message_id)
select 1 from pawl_messages where message_id = @message_id;

-- The last delivery number is lost with the message: deliveries continue far above any number that it can have reached,
-- so that earlier holders stay fenced.
-- name: restore_run_message(run_id, now)
insert into pawl_messages
    (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
select r.run_id, r.workflow_id, r.priority,
       {rule:raised_deliveries} + max(
           r.delivery,
           coalesce((select max(s.delivery) from pawl_steps s where s.run_id = r.run_id), 0),
           coalesce((select max(e.delivery) from pawl_events e where e.run_id = r.run_id), 0)
       ),
       'ready', @now, r.created_at, 'null'
from pawl_runs r where r.run_id = @run_id;

-- name: restore_task_message(run_id, step_index, task_index, lease_ms, now)
insert into pawl_messages
    (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload, run_id,
     step_index, task_index, lease_ms, lane)
select t.message_id, r.workflow_id, r.priority, {rule:raised_deliveries} + t.delivery, 'ready', @now, t.queued_at,
       'null', t.run_id, t.step_index, t.task_index, @lease_ms, case when w.lanes then t.step_index end
from pawl_tasks t
cross join pawl_runs r on r.run_id = t.run_id
cross join pawl_workflows w on w.workflow_id = r.workflow_id
where t.run_id = @run_id and t.step_index = @step_index and t.task_index = @task_index;

-- name: queue_restored_task(run_id, step_index, task_index)
update pawl_tasks set status = 'QUEUED'
where run_id = @run_id and step_index = @step_index and task_index = @task_index
  and status = 'RUNNING';
