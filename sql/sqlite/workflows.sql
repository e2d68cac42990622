-- Workflows: definition, administration, metrics.

-- name: workflow_id(name) -> (workflow_id, is_flow, audit)
select w.workflow_id, w.is_flow, w.audit
from pawl_queues q
join pawl_workflows w on w.workflow_id = q.queue_id
where q.name = @name;

-- name: dead_letter_chain(workflow_id) -> (dead_letter_workflow_id, workflow)
select w.dead_letter_workflow_id, q.name as workflow
from pawl_workflows w
join pawl_queues q on q.queue_id = w.workflow_id
where w.workflow_id = @workflow_id;

-- name: workflow_ids() -> (workflow_id, is_flow)
select workflow_id, is_flow from pawl_workflows;

-- Changes only the given options. Two of them may be set to null, so separate parameters say whether they are given.
-- name: create_workflow(workflow_id, max_attempts, backoff_base_ms, backoff_cap_ms, change_timeout, run_timeout_ms, change_dead_letter, dead_letter_workflow_id, audit, publish, created_at)
insert into pawl_workflows
    (workflow_id, max_attempts, backoff_base_ms, backoff_cap_ms, run_timeout_ms,
     dead_letter_workflow_id, audit, publish, created_at)
values (
    @workflow_id, coalesce(@max_attempts, {rule:default_run_attempts}),
    coalesce(@backoff_base_ms, {rule:default_backoff_base_ms}),
    coalesce(@backoff_cap_ms, {rule:default_backoff_cap_ms}), @run_timeout_ms, @dead_letter_workflow_id,
    coalesce(@audit, 'exceptions'), coalesce(@publish, 'off'), @created_at
)
on conflict (workflow_id) do update set
    max_attempts = coalesce(@max_attempts, max_attempts),
    backoff_base_ms = coalesce(@backoff_base_ms, backoff_base_ms),
    backoff_cap_ms = coalesce(@backoff_cap_ms, backoff_cap_ms),
    run_timeout_ms = case when @change_timeout then @run_timeout_ms else run_timeout_ms end,
    dead_letter_workflow_id = case when @change_dead_letter then @dead_letter_workflow_id
                                   else dead_letter_workflow_id end,
    audit = coalesce(@audit, audit),
    publish = coalesce(@publish, publish);

-- shared: list_workflows(only_workflow) -> workflow
select w.workflow_id, q.name as workflow, q.paused, w.max_attempts, w.backoff_base_ms, w.backoff_cap_ms,
       q.lease_ms, w.run_timeout_ms, q.max_strikes,
       coalesce(d.name, '') as dead_letter_workflow, w.audit, w.created_at,
       w.is_flow, w.task_timeout_ms, w.publish
from pawl_workflows w
join pawl_queues q on q.queue_id = w.workflow_id
left join pawl_queues d on d.queue_id = w.dead_letter_workflow_id
where @only_workflow is null or q.name = @only_workflow
order by q.name;

-- `names` is a JSON array.
-- name: named_workflows(names) -> workflow
select w.workflow_id, q.name as workflow, q.paused, w.max_attempts, w.backoff_base_ms, w.backoff_cap_ms,
       q.lease_ms, w.run_timeout_ms, q.max_strikes, coalesce(d.name, '') as dead_letter_workflow, w.audit, w.created_at,
       w.is_flow, w.task_timeout_ms, w.publish
from json_each(@names) n
join pawl_queues q on q.name = n.value
join pawl_workflows w on w.workflow_id = q.queue_id
left join pawl_queues d on d.queue_id = w.dead_letter_workflow_id;

-- name: count_live_runs(workflow_id)
select count(*) from pawl_runs where run_group in (0, 1) and workflow_id = @workflow_id;

-- Returns a JSON array.
-- name: ended_run_ids(workflow_id)
select json_group_array(run_id) from pawl_runs where run_group in (2, 3, 4) and workflow_id = @workflow_id;

-- name: delete_workflow_steps(run_ids)
delete from pawl_steps
where run_id in (select value from json_each(@run_ids));

-- name: delete_workflow_tags(run_ids)
delete from pawl_run_tags
where run_id in (select value from json_each(@run_ids));

-- name: delete_workflow_signals(run_ids)
delete from pawl_signals
where run_id in (select value from json_each(@run_ids));

-- name: delete_workflow_events(run_ids)
delete from pawl_events
where run_id in (select value from json_each(@run_ids));

-- name: delete_workflow_runs(run_ids)
delete from pawl_runs where run_id in (select value from json_each(@run_ids));

-- name: delete_workflow(workflow_id)
delete from pawl_workflows where workflow_id = @workflow_id;

-- The first run that does not count, among the newest that ended.
-- name: success_cut(workflow_id, after_time, now, max_rows)
select completed_at from pawl_runs indexed by pawl_runs_success_ended
where workflow_id = @workflow_id and completed_at > @after_time and completed_at <= @now
  and completed_at is not null and error is null
order by completed_at desc, run_id desc limit 1 offset @max_rows;

-- name: failed_cut(workflow_id, after_time, now, max_rows)
select completed_at from pawl_runs indexed by pawl_runs_failed_ended
where workflow_id = @workflow_id and completed_at > @after_time and completed_at <= @now
  and completed_at is not null and error is not null
order by completed_at desc, run_id desc limit 1 offset @max_rows;

-- name: ended_runs(workflow_id, after_time, now) -> (status, duration_us)
select status, completed_at - started_at as duration_us from pawl_runs indexed by pawl_runs_success_ended
where workflow_id = @workflow_id and completed_at > @after_time and completed_at <= @now
  and completed_at is not null and error is null
union all
select status, completed_at - started_at from pawl_runs indexed by pawl_runs_failed_ended
where workflow_id = @workflow_id and completed_at > @after_time and completed_at <= @now
  and completed_at is not null and error is not null;

-- The check keeps an invalid row, written by hand, from failing the statement.
-- name: live_handlers(now)
select distinct h.value
from pawl_workers w indexed by pawl_workers_live, json_each(case when json_valid(w.handlers) then w.handlers else '[]' end) h
where w.status <> 'STOPPED' and w.heartbeat_at + w.lease_ms * 1000 >= @now;

-- Workflows below a prefix with runs that could start but were never delivered. Every character of a name sorts before
-- '~'. Paused queues are excluded.
-- name: unstarted_workflows(prefix, now) -> (queue_id, workflow)
select q.queue_id, q.name as workflow
from pawl_queues q
join pawl_workflows w on w.workflow_id = q.queue_id
where q.name >= @prefix and q.name < @prefix || '~' and q.paused = 0
  and (exists (select 1 from pawl_messages m
               where m.queue_id = q.queue_id and m.state = 'ready' and m.delivery = 0
                 and (m.run_id is null or exists (
                     select 1 from pawl_runs r
                     where r.run_id = m.run_id and r.status = 'QUEUED')))
       or exists (select 1 from pawl_messages m
                  where m.queue_id = q.queue_id and m.state <> 'ready' and m.visible_at <= @now
                    and m.delivery = 0
                    and (m.run_id is null or exists (
                        select 1 from pawl_runs r
                        where r.run_id = m.run_id and r.status = 'QUEUED'))));

-- For a flow: the runs of its tasks. Several tasks may belong to one run.
-- name: unstarted_runs(queue_id, now, max_rows)
select distinct u.run_id
from (
    select coalesce(run_id, message_id) as run_id from pawl_messages
    where queue_id = @queue_id and state = 'ready' and delivery = 0
    union all
    select coalesce(run_id, message_id) from pawl_messages
    where queue_id = @queue_id and state <> 'ready' and visible_at <= @now and delivery = 0
) u
cross join pawl_runs r on r.run_id = u.run_id
where r.status = 'QUEUED'
limit @max_rows;
