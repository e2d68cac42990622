-- Look-ups, and the archive's own operations.

-- name: find_message(queue_id, message_id, now)
select message_id, priority, delivery, strikes, attempts,
       case when visible_at <= @now then 'ready' else state end,
       enqueued_at, visible_at, worker_id, last_error, payload
from pawl_messages
where message_id = @message_id and queue_id = @queue_id;

-- name: list_messages(queue_id, state, now, after_message, max_rows)
select message_id, priority, delivery, strikes, attempts, @state, enqueued_at, visible_at, worker_id,
       last_error, payload
from pawl_messages
where queue_id = @queue_id and message_id > @after_message
  and case when visible_at <= @now then 'ready' else state end = @state
order by message_id
limit @max_rows;

-- name: list_archive(queue_id, wanted_dead, after_message, max_rows)
select message_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at, archived_at,
       worker_id, payload
from pawl_archive
where queue_id = @queue_id and message_id > @after_message
  and (@wanted_dead is null or dead = @wanted_dead)
order by message_id
limit @max_rows;

-- Only the dead: through the index that holds nothing else.
-- name: list_dead(queue_id, after_message, max_rows)
select message_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at, archived_at,
       worker_id, payload
from pawl_archive
where queue_id = @queue_id and message_id > @after_message and dead = 1
order by message_id
limit @max_rows;

-- The message keeps its id, and its deliveries go on counting, so that old holders stay fenced.
-- name: replay_one(queue_id, message_id, now)
insert into pawl_messages
    (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
select a.message_id, a.queue_id, a.priority, a.delivery, 'ready', @now, a.enqueued_at, a.payload
from pawl_archive a
where a.message_id = @message_id and a.queue_id = @queue_id;

-- name: forget_one(queue_id, message_id)
delete from pawl_archive where message_id = @message_id and queue_id = @queue_id;

-- name: replay_dead(queue_id, now)
insert into pawl_messages
    (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
select a.message_id, a.queue_id, a.priority, a.delivery, 'ready', @now, a.enqueued_at, a.payload
from pawl_archive a
where a.queue_id = @queue_id and a.dead = 1;

-- name: purge_archive(queue_id, wanted_dead)
delete from pawl_archive
where queue_id = @queue_id and (@wanted_dead is null or dead = @wanted_dead);
