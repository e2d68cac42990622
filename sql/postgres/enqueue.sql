-- Adding messages to a queue.

-- name: enqueue_batch(queue_name, payloads, priorities, delays_ms, ats, wake)
select {call:enqueue_batch}, {schema}.queue_id(@queue_name::text)
