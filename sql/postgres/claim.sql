-- Claims of messages, runs and tasks; the leases of a worker.

-- call: claim
-- call: claim_runs

-- name: dequeue(queue_name, qty, lease_ms, default_lease_ms)
select * from {schema}.claim(
    array[{schema}.dequeuable(@queue_name::text)], @qty::integer, @lease_ms::bigint,
    default_lease_ms => @default_lease_ms::bigint)

-- call: list_leases
-- call: claim_tasks(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at, steps)
