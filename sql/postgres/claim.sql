-- Claims of messages, runs and tasks; the leases of a worker.

-- call: claim
-- call: claim_queue
-- call: claim_runs
-- call: list_leases
-- call: claim_tasks(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at, steps)
