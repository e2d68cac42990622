-- Settling: the operations of the holder of a delivery. Each statement names the delivery and is a no-op if it is not
-- the last one or is settled (fencing).
--
-- `or fail`: without it SQLite copies every page that an insert from a select touches, to be able to undo that
-- statement alone. On an error the store rolls back the whole transaction anyway.

-- These never remove the message of a run or a task (workflow_queue); such a message can only be released, handed back
-- and extended.

-- Before remove_plain_message. Inserts nothing if the queue keeps no archive.
-- name: keep_message(message_id, delivery, now)
insert or fail into pawl_archive
    (message_id, queue_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at,
     archived_at, worker_id, payload)
select m.message_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts, 0, null,
       m.enqueued_at, @now, m.worker_id, m.payload
from pawl_messages m
where m.message_id = @message_id and m.delivery = @delivery and m.state = 'leased'
  and (select q.keep_archive from pawl_queues q where q.queue_id = m.queue_id)
  and not exists (select 1 from pawl_workflows w where w.workflow_id = m.queue_id);

-- Archiving in one statement for queues that keep no archive; a no-op for others.
-- name: remove_unkept_message(message_id, delivery)
delete from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not (select q.keep_archive from pawl_queues q where q.queue_id = pawl_messages.queue_id)
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id);

-- name: remove_plain_message(message_id, delivery)
delete from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id);

-- name: remove_message(message_id, delivery)
delete from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- name: release_message(message_id, delivery, state, visible_at) -> task_key
update pawl_messages
set state = @state, visible_at = @visible_at, strikes = 0, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
returning queue_id, run_id, step_index, task_index;

-- A message that still has strikes stays a due row, so that ready rows never have strikes.
-- name: hand_back_message(message_id, delivery, now) -> task_key
update pawl_messages
set state = case when strikes > 1 then 'waiting' else 'ready' end, visible_at = @now,
    strikes = strikes - 1, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
returning queue_id, run_id, step_index, task_index;

-- name: extend_message(message_id, delivery, visible_at)
update pawl_messages set visible_at = @visible_at
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- name: fail_message(message_id, delivery, error, visible_at) -> (queue_id, attempts, max_attempts)
update pawl_messages
set attempts = attempts + 1, last_error = @error, strikes = 0, state = 'waiting',
    visible_at = @visible_at, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id)
returning queue_id, attempts,
          (select q.max_attempts from pawl_queues q where q.queue_id = pawl_messages.queue_id) as max_attempts;

-- name: is_held_plain(message_id, delivery)
select 1 from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id);

-- name: leased_from(message_id, delivery)
select queue_id from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- Whether the message belongs, or belonged, to a run, or belongs to a task.
-- name: carries_run(message_id)
select 1 from pawl_messages m
join pawl_workflows w on w.workflow_id = m.queue_id
where m.message_id = @message_id
union all
select 1 from pawl_runs r where r.run_id = @message_id;

-- Dead letters are moved to the queue's dead letter queue.
-- name: forward_dead(message_id, now, reason)
update pawl_messages
set queue_id = (select q.dead_letter_queue_id from pawl_queues q
                where q.queue_id = pawl_messages.queue_id),
    state = 'ready', visible_at = @now, strikes = 0, attempts = 0, worker_id = null,
    last_error = @reason
where message_id = @message_id
  and (select q.dead_letter_queue_id from pawl_queues q
       where q.queue_id = pawl_messages.queue_id) is not null
returning queue_id;

-- Without a dead letter queue they are archived with the reason.
-- name: keep_dead(message_id, now, reason)
insert or fail into pawl_archive
    (message_id, queue_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at,
     archived_at, worker_id, payload)
select m.message_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts, 1, @reason,
       m.enqueued_at, @now, m.worker_id, m.payload
from pawl_messages m
where m.message_id = @message_id;

-- name: delete_message(message_id)
delete from pawl_messages where message_id = @message_id;

-- The reason why a lease could not be settled: the current delivery of the message, or of its archived record.
-- name: known_deliveries(message_id) -> (live, archived)
select (select m.delivery from pawl_messages m where m.message_id = @message_id) as live,
       (select a.delivery from pawl_archive a where a.message_id = @message_id) as archived;

-- The messages of a batch that are leased, for a JSON array of [message, delivery]. For sessions with costly round
-- trips: see src/rowstore/commit/fences.h.
-- name: fences(leases) -> (message_id, delivery, worker_id, queue_id, is_workflow, run_id, step_index, task_index, attempts, max_attempts)
select m.message_id, m.delivery, m.worker_id, m.queue_id,
       exists (select 1 from pawl_workflows w where w.workflow_id = m.queue_id) as is_workflow,
       m.run_id, m.step_index, m.task_index, m.attempts,
       (select q.max_attempts from pawl_queues q where q.queue_id = m.queue_id) as max_attempts
from json_each(@leases) l
cross join pawl_messages m on m.message_id = json_extract(l.value, '$[0]')
where m.delivery = json_extract(l.value, '$[1]') and m.state = 'leased';
