-- Queues: definition and administration.

-- name: queue_id(name) -> (queue_id, is_workflow)
select q.queue_id, exists (select 1 from pawl_workflows w where w.workflow_id = q.queue_id) as is_workflow
from pawl_queues q where q.name = @name;

-- Changes only the given options. The dead letter queue may be set to null, so a separate parameter says whether it is
-- given.
-- name: create_queue(name, keep_archive, lease_ms, max_strikes, max_attempts, change_dead_letter, dead_letter_queue_id, created_at)
insert into pawl_queues
    (name, keep_archive, lease_ms, max_strikes, max_attempts, dead_letter_queue_id, created_at)
values (
    @name, coalesce(@keep_archive, 1), @lease_ms, coalesce(@max_strikes, {rule:default_queue_strikes}),
    coalesce(@max_attempts, {rule:default_queue_attempts}), @dead_letter_queue_id, @created_at
)
on conflict (name) do update set
    keep_archive = coalesce(@keep_archive, keep_archive),
    lease_ms = coalesce(@lease_ms, lease_ms),
    max_strikes = coalesce(@max_strikes, max_strikes),
    max_attempts = coalesce(@max_attempts, max_attempts),
    dead_letter_queue_id =
        case when @change_dead_letter then @dead_letter_queue_id else dead_letter_queue_id end;

-- name: delete_queue_messages(queue_id)
delete from pawl_messages
where message_id in (
    select message_id from pawl_messages where queue_id = @queue_id and state = 'ready'
    union all
    select message_id from pawl_messages where queue_id = @queue_id and state <> 'ready'
);

-- name: delete_queue_archive(queue_id)
delete from pawl_archive where queue_id = @queue_id;

-- name: delete_queue(queue_id)
delete from pawl_queues where queue_id = @queue_id;

-- name: set_queue_paused(queue_id, paused)
update pawl_queues set paused = @paused where queue_id = @queue_id;

-- shared: list_queues(only_queue) -> queue
select q.queue_id, q.name as queue, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts,
       coalesce(d.name, '') as dead_letter_queue, q.created_at,
       case when w.workflow_id is null then 'plain' when w.is_flow then 'flow' else 'workflow' end as kind
from pawl_queues q
left join pawl_queues d on d.queue_id = q.dead_letter_queue_id
left join pawl_workflows w on w.workflow_id = q.queue_id
where @only_queue is null or q.name = @only_queue
order by q.name;

-- Null means all queues.
-- name: queue_states(only_name) -> (queue_id, queue, paused)
select queue_id, name as queue, paused from pawl_queues where @only_name is null or name = @only_name order by name;
