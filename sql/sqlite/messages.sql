-- Lookups of messages, and operations on the archive.

-- name: find_message(queue_id, message_id, now) -> message
select m.message_id, q.name as queue, m.priority, m.delivery, m.strikes, m.attempts,
       case when m.visible_at <= @now then 'ready' else m.state end as state,
       m.enqueued_at, m.visible_at, m.worker_id, m.last_error, m.payload
from pawl_messages m
join pawl_queues q on q.queue_id = m.queue_id
where m.message_id = @message_id and m.queue_id = @queue_id;

-- A page is merged from one page per priority and from the waiting and leased messages: see message_page() on
-- PostgreSQL.
-- name: next_priority(queue_id, below) -> (priority, visible_at)
select priority, visible_at from pawl_messages indexed by pawl_messages_ready
where queue_id = @queue_id and state = 'ready' and priority < @below
order by priority desc, message_id limit 1;

-- name: page_ready(queue_id, priority, after_message, max_rows)
select message_id from pawl_messages indexed by pawl_messages_ready
where queue_id = @queue_id and state = 'ready' and priority = @priority and message_id > @after_message
order by message_id limit @max_rows;

-- name: page_timed(queue_id, state, from_time, until_time, after_message, max_rows)
select message_id from pawl_messages indexed by pawl_messages_due
where queue_id = @queue_id and state <> 'ready' and visible_at > @from_time and visible_at <= @until_time
  and message_id > @after_message and (@state = 'ready' or state = @state)
order by message_id limit @max_rows;

-- name: page_any(queue_id, state, now, after_message, max_rows)
select message_id from pawl_messages
where queue_id = @queue_id and message_id > @after_message
  and case when visible_at <= @now then 'ready' else state end = @state
order by message_id limit @max_rows;

-- The messages that a worker holds, in all queues; ready messages are not read. Reads up to `reading` messages of each
-- queue, those whose lease or delay ends first.
-- name: list_held(worker_id, now, after_message, reading, max_rows) -> message
select m.message_id, q.name as queue, m.priority, m.delivery, m.strikes, m.attempts, m.state, m.enqueued_at,
       m.visible_at, m.worker_id, m.last_error, m.payload
from pawl_queues q
cross join pawl_messages m on m.message_id in (
    select d.message_id from pawl_messages d indexed by pawl_messages_due
    where d.queue_id = q.queue_id and d.state <> 'ready' and d.visible_at > @now
    order by d.visible_at limit @reading
)
-- `+` keeps the planner from building an index of all messages.
where +m.state = 'leased' and +m.worker_id = @worker_id and +m.message_id > @after_message
order by m.message_id limit @max_rows;

-- name: list_archive(queue_id, wanted_dead, after_message, max_rows) -> archived
select a.message_id, (select q.name from pawl_queues q where q.queue_id = a.queue_id) as queue,
       a.priority, a.delivery, a.strikes, a.attempts, a.dead, a.reason,
       a.enqueued_at, a.archived_at, a.worker_id, a.payload
from pawl_archive a
where a.queue_id = @queue_id and a.message_id > @after_message
  and (@wanted_dead is null or a.dead = @wanted_dead)
order by a.message_id
limit @max_rows;

-- Only dead letters, through an index that contains no other rows.
-- name: list_dead(queue_id, after_message, max_rows) -> archived
select a.message_id, (select q.name from pawl_queues q where q.queue_id = a.queue_id) as queue,
       a.priority, a.delivery, a.strikes, a.attempts, a.dead, a.reason,
       a.enqueued_at, a.archived_at, a.worker_id, a.payload
from pawl_archive a
where a.queue_id = @queue_id and a.message_id > @after_message and a.dead = 1
order by a.message_id
limit @max_rows;

-- Bounded counts: one row more than the limit means that there are more.
-- name: count_ready(queue_id, max_rows) -> (messages, oldest_at)
select count(*) as messages, min(visible_at) as oldest_at
from (
    select visible_at from pawl_messages indexed by pawl_messages_ready
    where queue_id = @queue_id and state = 'ready' limit @max_rows
);

-- name: count_timed(queue_id, from_time, until_time, max_rows) -> (messages, waiting, leased, oldest_at)
select count(*) as messages, count(*) filter (where state = 'waiting') as waiting,
       count(*) filter (where state = 'leased') as leased, min(visible_at) as oldest_at
from (
    select state, visible_at from pawl_messages indexed by pawl_messages_due
    where queue_id = @queue_id and state <> 'ready' and visible_at > @from_time and visible_at <= @until_time
    order by visible_at limit @max_rows
);

-- name: count_done(queue_id, max_rows)
select count(*)
from (
    select 1 from pawl_archive indexed by pawl_archive_aged where queue_id = @queue_id and dead = 0 limit @max_rows
);

-- name: count_dead(queue_id, max_rows)
select count(*)
from (
    select 1 from pawl_archive indexed by pawl_archive_dead where queue_id = @queue_id and dead = 1 limit @max_rows
);

-- The message keeps its id and continues its delivery numbers, so that earlier holders stay fenced.
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
