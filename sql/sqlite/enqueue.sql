-- Enqueue.

-- name: insert_message(queue_id, priority, state, visible_at, enqueued_at, payload)
insert into pawl_messages (queue_id, priority, state, visible_at, enqueued_at, payload)
values (@queue_id, @priority, @state, @visible_at, @enqueued_at, @payload);
