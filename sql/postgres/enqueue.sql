-- Adding messages to a queue.

-- name: enqueue_batch(queue_name, payloads, priorities, delays_ms, ats, wake) -> (message_ids, queue_id)
select {call:enqueue_batch} as message_ids, {schema}.queue_id(@queue_name::text) as queue_id
