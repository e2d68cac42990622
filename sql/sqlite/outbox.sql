-- The outbox. sql/postgres/functions/outbox/outbox_dispatch.sql describes the delivery of events. SQLite has one writer
-- at a time, so no other locks are needed.

-- name: insert_outbox(event_id, type, payload, aggregate, subject, traceparent, run_id, now)
insert into pawl_outbox
    (event_id, type, payload, aggregate, subject, traceparent, run_id, status, visible_at, created_at)
values
    (@event_id, @type, @payload, @aggregate, @subject, @traceparent, @run_id, 'PENDING', @now, @now);

-- name: some_workflow_publishes()
select 1 from pawl_workflows where publish <> 'off' limit 1;

-- The data for the automatic events of a run.
-- name: publishing_run(run_id) -> (publish, workflow, status, output, error, has_dead_letter)
select w.publish, q.name as workflow, r.status, r.output, r.error, w.dead_letter_workflow_id is not null as has_dead_letter
from pawl_runs r
join pawl_workflows w on w.workflow_id = r.workflow_id
join pawl_queues q on q.queue_id = r.workflow_id
where r.run_id = @run_id and w.publish <> 'off';

-- name: message_error(message_id)
select last_error from pawl_messages where message_id = @message_id;

-- name: outbox_is_due(now)
select 1 from pawl_outbox indexed by pawl_outbox_due
where status = 'PENDING' and visible_at <= @now limit 1;

-- name: next_outbox(now)
select visible_at from pawl_outbox indexed by pawl_outbox_due
where status = 'PENDING' and visible_at > @now
order by visible_at limit 1;

-- name: due_outbox(now, max_rows) -> (outbox_id, aggregate)
select outbox_id, aggregate from pawl_outbox indexed by pawl_outbox_due
where status = 'PENDING' and visible_at <= @now
order by visible_at, outbox_id limit @max_rows;

-- Until when an aggregate is blocked: its first event waits, or one of its events is leased.
-- name: aggregate_blocked_until(aggregate)
select max((select o.visible_at from pawl_outbox o indexed by pawl_outbox_pending
            where o.status = 'PENDING' and o.aggregate = @aggregate
            order by o.outbox_id limit 1),
           coalesce((select max(o.visible_at) from pawl_outbox o indexed by pawl_outbox_leased
                     where o.leased = 1 and o.aggregate = @aggregate), 0));

-- The pending events of an aggregate, and whether each can be claimed.
-- name: outbox_line(aggregate, now, max_rows) -> (outbox_id, is_free)
select outbox_id, visible_at <= @now or (leased = 0 and last_error is null) as is_free
from pawl_outbox indexed by pawl_outbox_pending
where status = 'PENDING' and aggregate = @aggregate
order by outbox_id limit @max_rows;

-- name: postpone_outbox(outbox_id, visible_at)
update pawl_outbox set visible_at = @visible_at where outbox_id = @outbox_id;

-- name: lease_outbox(outbox_id, visible_at)
update pawl_outbox
set leased = 1, delivery = delivery + 1, attempts = attempts + 1, visible_at = @visible_at
where outbox_id = @outbox_id;

-- name: leased_outbox(outbox_id) -> leased_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at, delivery
from pawl_outbox where outbox_id = @outbox_id;

-- name: publish_reported(outbox_id, delivery, now)
update pawl_outbox
set leased = 0, status = 'PUBLISHED', published_at = @now, last_error = null, visible_at = @now
where outbox_id = @outbox_id and delivery = @delivery and leased = 1
returning aggregate;

-- name: retry_reported(outbox_id, delivery, error, visible_at)
update pawl_outbox
set leased = 0, last_error = @error, visible_at = @visible_at
where outbox_id = @outbox_id and delivery = @delivery and leased = 1
returning aggregate;

-- name: park_reported(outbox_id, delivery, error, now)
update pawl_outbox
set leased = 0, status = 'PARKED', last_error = @error, visible_at = @now
where outbox_id = @outbox_id and delivery = @delivery and leased = 1
returning aggregate;

-- Undoes the delivery.
-- name: release_reported(outbox_id, delivery, now)
update pawl_outbox
set leased = 0, attempts = attempts - 1, visible_at = @now
where outbox_id = @outbox_id and delivery = @delivery and leased = 1
returning aggregate;

-- Makes the first event of a line due if it was only postponed.
-- name: advance_line(aggregate, now)
update pawl_outbox set visible_at = @now
where outbox_id = (select o.outbox_id from pawl_outbox o indexed by pawl_outbox_pending
                   where o.status = 'PENDING' and o.aggregate = @aggregate
                   order by o.outbox_id limit 1)
  and visible_at > @now and leased = 0 and last_error is null;

-- Resets the attempts, as if the event had not been tried.
-- name: retry_parked(outbox_id, now)
update pawl_outbox set status = 'PENDING', attempts = 0, last_error = null, visible_at = @now
where status = 'PARKED' and outbox_id = @outbox_id;

-- name: retry_all_parked(now)
update pawl_outbox indexed by pawl_outbox_status
set status = 'PENDING', attempts = 0, last_error = null, visible_at = @now
where status = 'PARKED';

-- name: list_outbox(after_event, max_rows) -> outbox_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at
from pawl_outbox
where outbox_id > @after_event
order by outbox_id limit @max_rows;

-- The pages of one status: each reads one index in its order.
-- name: list_outbox_by_status(status, after_event, max_rows) -> outbox_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at
from pawl_outbox indexed by pawl_outbox_status
where status = @status and outbox_id > @after_event
order by outbox_id limit @max_rows;

-- name: list_outbox_by_type(status, type, after_event, max_rows) -> outbox_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at
from pawl_outbox indexed by pawl_outbox_type
where status = @status and type = @type and outbox_id > @after_event
order by outbox_id limit @max_rows;

-- name: list_outbox_by_aggregate(status, type, aggregate, after_event, max_rows) -> outbox_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at
from pawl_outbox indexed by pawl_outbox_aggregate
where status = @status and aggregate = @aggregate and outbox_id > @after_event
  and (@type is null or type = @type)
order by outbox_id limit @max_rows;

-- name: list_run_outbox(run_id, status, type, aggregate, after_event, max_rows) -> outbox_event
select outbox_id, event_id, type, payload, aggregate, subject, traceparent, run_id, status, attempts,
       last_error, created_at, visible_at, published_at
from pawl_outbox indexed by pawl_outbox_run
where run_id = @run_id and outbox_id > @after_event
  and (@status is null or status = @status)
  and (@type is null or type = @type)
  and (@aggregate is null or aggregate = @aggregate)
order by outbox_id limit @max_rows;

-- Among the events that have been due longest.
-- name: oldest_due_outbox(now)
select min(d.created_at)
from (select o.created_at from pawl_outbox o indexed by pawl_outbox_due
      where o.status = 'PENDING' and o.visible_at <= @now
      order by o.visible_at limit {rule:oldest_events}) d;
