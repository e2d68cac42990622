-- Queues.

-- call: create_queue
-- call: delete_queue
-- call: pause_queue
-- call: purge_queue

-- shared: list_queues(only_queue) -> queue
select q.queue_id, q.name as queue, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts,
       d.name as dead_letter_queue, q.created_at,
       case when w.workflow_id is null then 'plain' when w.is_flow then 'flow' else 'workflow' end as kind
from {schema}.queues q
left join {schema}.queues d on d.queue_id = q.dead_letter_queue_id
left join {schema}.workflows w on w.workflow_id = q.queue_id
where @only_queue::text is null or q.name = @only_queue::text
order by q.name

-- name: resolve_queues(names) -> (queue_id, is_workflow, is_flow)
select coalesce(q.queue_id, 0) as queue_id, w.workflow_id is not null as is_workflow,
       coalesce(w.is_flow, false) as is_flow
from unnest(@names::text[]) with ordinality as n (name, place)
left join {schema}.queues q using (name)
left join {schema}.workflows w on w.workflow_id = q.queue_id
order by n.place

-- call: queue_stats -> queue_stats

-- The counts of the whole store are in each row. If no queue matches, the only row has nothing else.
-- name: backlog(queue_names, count_limit) -> backlog
select b.*, {schema}.outbox_lag_ms() as outbox_lag_ms, w.live, w.lost
from {schema}.worker_counts(0) w
left join {schema}.queue_stats(@queue_names::text[], @count_limit::integer) b on true
