
-- The outbox: the position of a claim is a time and an id. Pages by status, type and aggregate read one index each;
-- outbox_settled excludes pending events, which are in outbox_pending.
drop index if exists {schema}.outbox_due;
create index outbox_due on {schema}.outbox (visible_at, outbox_id) where status = 'PENDING';
create index outbox_pending_id on {schema}.outbox (outbox_id) where status = 'PENDING';
create index outbox_type on {schema}.outbox (status, type, outbox_id);
create index outbox_settled on {schema}.outbox (status, aggregate, outbox_id) where status <> 'PENDING';
-- Whether a map takes its elements from the step: its output must then be an array.
alter table {schema}.flow_steps add column feeds_map boolean not null default false;
update {schema}.flow_steps f set feeds_map = true
from {schema}.flow_deps d
join {schema}.flow_steps m on m.workflow_id = d.workflow_id and m.step_index = d.step_index and m.step_type = 'map'
where d.workflow_id = f.workflow_id and d.dep_index = f.step_index;

-- A task that a worker holds uses no attempt if the worker crashes: strikes limit it, as for runs.
update {schema}.queues q set max_strikes = 5
from {schema}.workflows w where w.workflow_id = q.queue_id and w.is_flow and q.max_strikes = 1000;

-- Lanes: the tasks of one step in their flow's queue, for workers that claim only some steps. A flow has them after the
-- first such claim (see flow/lanes.sql); for other flows both indexes are empty and cost nothing.
alter table {schema}.workflows
    add column lanes text not null default 'off' check (lanes in ('off', 'opening', 'open')),
    add column lanes_barrier xid8;
alter table {schema}.messages add column lane integer;
create index messages_lane_ready on {schema}.messages (queue_id, lane, (-priority), message_id)
    where state = 'ready' and lane is not null;
create index messages_lane_due on {schema}.messages (queue_id, lane, visible_at)
    where state <> 'ready' and lane is not null;

-- Runs whose events are sent by NOTIFY: see run/follow.sql. Unlogged: after a crash of the server, clients follow the
-- run again.
create unlogged table {schema}.followed_runs (
    run_id bigint primary key,
    until  timestamptz not null
);
-- Bounds for the leases of workers: a value out of bounds made every list of workers fail.
update {schema}.workers set lease_ms = least(greatest(lease_ms, 1), 3162240000000)
where lease_ms not between 1 and 3162240000000;
alter table {schema}.workers add constraint workers_lease check (lease_ms between 1 and 3162240000000);
-- Increases with each heartbeat. A smaller number than before tells a worker that the store was restored from an older
-- backup.
alter table {schema}.workers add column beats bigint not null default 0;
-- Bounded reads, and protection against damage of the store.

-- Lists and counts read only the rows that they return, independent of the history. One index has the runs in groups
-- (see run_group in run/run_lists.sql), each in the order of creation. Like all indexes of runs it contains no column
-- that a claim changes: so `cancelled`, and not the status, separates cancelled runs from failed ones. With `run_id +
-- 0`, a plan that was created while the table was empty cannot use it in place of the primary key.
alter table {schema}.runs add column cancelled boolean;  -- true: CANCELLED; null otherwise
update {schema}.runs set cancelled = true where status = 'CANCELLED';
drop index if exists {schema}.runs_workflow, {schema}.runs_live, {schema}.runs_failed, {schema}.runs_created;
create index runs_group on {schema}.runs (
    (case when completed_at is null then case when paused_at is null then 0 else 1 end
          when error is null then 2 when cancelled then 4 else 3 end),
    workflow_id, created_at, (run_id + 0)
);
create index runs_deleted_key on {schema}.runs (workflow_id, idempotency_key, created_at, (run_id + 0))
    where idempotency_key is not null and deleted_at is not null;
-- Messages that were released: together with messages_due, all that were delivered. A claim never updates it.
create index messages_returned on {schema}.messages (queue_id, message_id) where state = 'ready' and delivery > 0;
create index workers_live on {schema}.workers (worker_id) where status <> 'STOPPED';
create index workers_heard on {schema}.workers (heartbeat_at, worker_id);

-- A policy for success, failed, events, archive or dead-letters without a queue is a policy for all. Each pass of
-- pruning creates the rows inherited from it. Stopped and lost workers are removed after 7 days.
alter table {schema}.retention add column inherited boolean not null default false;
insert into {schema}.retention (kind, keep_ms) values ('workers', 7 * 86400000::bigint)
on conflict ((coalesce(queue_id, 0)), kind) do nothing;
-- Fire times of schedules have a separate column of keys, so that no key of a user can conflict with one.
alter table {schema}.runs add column fire_key text;
update {schema}.runs r set fire_key = r.idempotency_key, idempotency_key = null
where r.idempotency_key like 'schedule:%Z' and exists (
    select from {schema}.run_tags t
    where t.run_id = r.run_id and t.tag like 'schedule:%' and starts_with(r.idempotency_key, t.tag || ':')
);
create unique index runs_fire_key on {schema}.runs (workflow_id, fire_key)
    where fire_key is not null and deleted_at is null;
