-- Queues.

-- call: create_queue
-- call: delete_queue
-- call: pause_queue
-- call: purge_queue

-- shared: list_queues(only_queue) -> queue
select q.queue_id, q.name, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts, d.name, q.created_at,
       case when w.workflow_id is null then 'plain' when w.is_flow then 'flow' else 'workflow' end
from {schema}.queues q
left join {schema}.queues d on d.queue_id = q.dead_letter_queue_id
left join {schema}.workflows w on w.workflow_id = q.queue_id
where @only_queue::text is null or q.name = @only_queue::text
order by q.name

-- name: resolve_queues(names)
select coalesce(q.queue_id, 0), w.workflow_id is not null
from unnest(@names::text[]) with ordinality as n (name, place)
left join {schema}.queues q using (name)
left join {schema}.workflows w on w.workflow_id = q.queue_id
order by n.place

-- call: queue_stats -> queue_stats

-- The counts of the whole store are in each row; if no queue exists, in the only one.
-- name: backlog(queue_names, count_limit)
select b.*, {schema}.outbox_lag_ms(), w.live, w.lost
from {schema}.worker_counts(0) w
left join {schema}.queue_stats(@queue_names::text[], @count_limit::integer) b on true
