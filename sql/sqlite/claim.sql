-- The claim: see sql/postgres/functions/05_claim.sql for the algorithm. Without functions it is
-- spread over statements that src/sqlite/claimer.cpp runs in one transaction; without dead index
-- entries there is nothing to skip, so the floors of PostgreSQL are not here.

-- name: claimable_queue(queue_id)
select lease_ms, max_strikes from pawl_queues where queue_id = @queue_id and paused = 0;

-- Two skip scans, over queues that have ready rows and over those that have rows with a time.
-- name: next_ready_queue(after_queue)
select queue_id from pawl_messages
where state = 'ready' and queue_id > @after_queue
order by queue_id limit 1;

-- name: next_timed_queue(after_queue)
select queue_id from pawl_messages
where state <> 'ready' and queue_id > @after_queue
order by queue_id limit 1;

-- name: top_priority(queue_id)
select priority from pawl_messages
where queue_id = @queue_id and state = 'ready'
order by priority desc, message_id limit 1;

-- name: next_due(queue_id, after_time)
select visible_at from pawl_messages
where queue_id = @queue_id and state <> 'ready' and visible_at > @after_time
order by visible_at limit 1;

-- name: due_messages(queue_id, now, max_messages)
select message_id, priority, strikes from pawl_messages
where queue_id = @queue_id and state <> 'ready' and visible_at <= @now
order by visible_at limit @max_messages;

-- name: ready_messages(queue_id, priority, max_messages)
select message_id from pawl_messages
where queue_id = @queue_id and state = 'ready' and priority = @priority
order by message_id limit @max_messages;

-- The usual case in one statement: one queue with nothing but ready rows. `or fail`: see settle.sql.
-- name: claim_ready(queue_id, max_messages, visible_at, worker_id)
update or fail pawl_messages
set state = 'leased', delivery = delivery + 1, strikes = strikes + 1, visible_at = @visible_at,
    worker_id = @worker_id
where message_id in (
    select message_id from pawl_messages
    where queue_id = @queue_id and state = 'ready'
    order by priority desc, message_id limit @max_messages
)
returning message_id, queue_id, priority, delivery, strikes, attempts, enqueued_at, visible_at,
          last_error, payload;

-- One priority's share of one of several queues.
-- name: claim_level(queue_id, priority, max_messages, visible_at, worker_id)
update or fail pawl_messages
set state = 'leased', delivery = delivery + 1, strikes = strikes + 1, visible_at = @visible_at,
    worker_id = @worker_id
where message_id in (
    select message_id from pawl_messages
    where queue_id = @queue_id and state = 'ready' and priority = @priority
    order by message_id limit @max_messages
)
returning message_id, queue_id, priority, delivery, strikes, attempts, enqueued_at, visible_at,
          last_error, payload;

-- name: claim_message(message_id, visible_at, worker_id)
update pawl_messages
set state = 'leased', delivery = delivery + 1, strikes = strikes + 1, visible_at = @visible_at,
    worker_id = @worker_id
where message_id = @message_id
returning message_id, queue_id, priority, delivery, strikes, attempts, enqueued_at, visible_at,
          last_error, payload;
