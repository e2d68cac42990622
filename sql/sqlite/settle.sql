-- Settling: what the holder of a delivery may do with a message. Each statement names the delivery
-- and does nothing for one that is not the last, or is settled (fencing).
--
-- `or fail`: SQLite would copy every page that an insert from a select touches, to be able to undo the
-- statement alone. The store undoes the whole transaction then, so the copies are for nothing.

-- The message of a run or a task is never taken away by these (workflow_queue), only released, handed back
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

-- Archiving in one statement where the queue keeps no archive; does nothing where it keeps one.
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

-- name: release_message(message_id, delivery, state, visible_at)
update pawl_messages
set state = @state, visible_at = @visible_at, strikes = 0, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
returning queue_id, run_id, step_index, task_index;

-- What still has strikes stays a due row, so that ready rows never carry suspicion.
-- name: hand_back_message(message_id, delivery, now)
update pawl_messages
set state = case when strikes > 1 then 'waiting' else 'ready' end, visible_at = @now,
    strikes = strikes - 1, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
returning queue_id, run_id, step_index, task_index;

-- name: extend_message(message_id, delivery, visible_at)
update pawl_messages set visible_at = @visible_at
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- name: fail_message(message_id, delivery, error, visible_at)
update pawl_messages
set attempts = attempts + 1, last_error = @error, strikes = 0, state = 'waiting',
    visible_at = @visible_at, worker_id = null
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id)
returning queue_id, attempts,
          (select q.max_attempts from pawl_queues q where q.queue_id = pawl_messages.queue_id);

-- name: is_held_plain(message_id, delivery)
select 1 from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased'
  and not exists (select 1 from pawl_workflows w where w.workflow_id = pawl_messages.queue_id);

-- name: leased_from(message_id, delivery)
select queue_id from pawl_messages
where message_id = @message_id and delivery = @delivery and state = 'leased';

-- Whether the message is, or was, that of a run, or is that of a task.
-- name: carries_run(message_id)
select 1 from pawl_messages m
join pawl_workflows w on w.workflow_id = m.queue_id
where m.message_id = @message_id
union all
select 1 from pawl_runs r where r.run_id = @message_id;

-- Dead letters go on to the queue's dead letter queue ...
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

-- ... or, where there is none, to the archive with the reason.
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

-- Why a lease could not be settled: the delivery that the message, or its record, has now.
-- name: known_deliveries(message_id)
select (select m.delivery from pawl_messages m where m.message_id = @message_id),
       (select a.delivery from pawl_archive a where a.message_id = @message_id);
