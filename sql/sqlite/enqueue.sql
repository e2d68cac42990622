-- Enqueue.

-- name: insert_message(queue_id, priority, state, visible_at, enqueued_at, payload)
insert into pawl_messages (queue_id, priority, state, visible_at, enqueued_at, payload)
values (@queue_id, @priority, @state, @visible_at, @enqueued_at, @payload);

-- For sessions with costly round trips: see src/rowstore/run/message_ids.h. The sequence does not exist before the
-- first message.
-- name: create_message_sequence()
insert into sqlite_sequence (name, seq)
select 'pawl_messages', 0
where not exists (select 1 from sqlite_sequence where name = 'pawl_messages');

-- name: reserve_message_ids(count)
update sqlite_sequence set seq = seq + @count where name = 'pawl_messages';

-- The last of the reserved ids.
-- name: reserved_message_id()
select seq from sqlite_sequence where name = 'pawl_messages';

-- name: insert_numbered_message(message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
insert into pawl_messages (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
values (@message_id, @queue_id, @priority, @state, @visible_at, @enqueued_at, @payload);
