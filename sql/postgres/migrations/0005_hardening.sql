
-- The outbox: the position of a claim is a time and a number. Pages by status, type and aggregate read one
-- index each; outbox_settled leaves pending events to outbox_pending.
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

-- A task that a worker holds uses no attempt when the worker crashes: strikes decide, as for runs.
update {schema}.queues q set max_strikes = 5
from {schema}.workflows w where w.workflow_id = q.queue_id and w.is_flow and q.max_strikes = 1000;

-- Lanes: the tasks of one step in their flow's queue, for workers that take only some steps. A flow has them from the
-- first such claim on (see flow/lanes.sql); for the others both indexes are empty and cost nothing.
alter table {schema}.workflows
    add column lanes text not null default 'off' check (lanes in ('off', 'opening', 'open')),
    add column lanes_barrier xid8;
alter table {schema}.messages add column lane integer;
create index messages_lane_ready on {schema}.messages (queue_id, lane, (-priority), message_id)
    where state = 'ready' and lane is not null;
create index messages_lane_due on {schema}.messages (queue_id, lane, visible_at)
    where state <> 'ready' and lane is not null;

-- Runs whose events are sent by NOTIFY: see run/follow.sql. Unlogged: after a crash of the server a follower asks again.
create unlogged table {schema}.followed_runs (
    run_id bigint primary key,
    until  timestamptz not null
);
-- Leases of workers have bounds: with one out of them every list of workers failed.
update {schema}.workers set lease_ms = least(greatest(lease_ms, 1), 3162240000000)
where lease_ms not between 1 and 3162240000000;
alter table {schema}.workers add constraint workers_lease check (lease_ms between 1 and 3162240000000);
-- Grows with each heartbeat. A worker that finds a smaller number works with a store that was restored from an older
-- backup.
alter table {schema}.workers add column beats bigint not null default 0;
-- Bounded reads, and what makes stores harder to damage.

-- Lists and counts read the rows that they return, whatever the history. One index has the runs in groups (see
-- run_group in run/run_lists.sql), each in the order of creation. As all indexes of runs it names no column that a claim
-- changes: therefore `cancelled`, and not the status, separates cancelled runs from failed ones. `run_id + 0` is never
-- mistaken for the primary key by a plan that was made while the table was empty.
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
-- Messages that were given back: with messages_due all that were handed out. A claim never writes it.
create index messages_returned on {schema}.messages (queue_id, message_id) where state = 'ready' and delivery > 0;
create index workers_live on {schema}.workers (worker_id) where status <> 'STOPPED';
create index workers_heard on {schema}.workers (heartbeat_at, worker_id);

-- A policy of success, failed, events, archive or dead-letters without a queue is one for all; rows that are inherited
-- from it are made by each pass of pruning. Stopped and lost workers go after 7 days.
alter table {schema}.retention add column inherited boolean not null default false;
insert into {schema}.retention (kind, keep_ms) values ('workers', 7 * 86400000::bigint)
on conflict ((coalesce(queue_id, 0)), kind) do nothing;
-- Fire times of schedules have keys of their own: none of a user can take the place of one.
alter table {schema}.runs add column fire_key text;
update {schema}.runs r set fire_key = r.idempotency_key, idempotency_key = null
where r.idempotency_key like 'schedule:%Z' and exists (
    select from {schema}.run_tags t
    where t.run_id = r.run_id and t.tag like 'schedule:%' and starts_with(r.idempotency_key, t.tag || ':')
);
create unique index runs_fire_key on {schema}.runs (workflow_id, fire_key)
    where fire_key is not null and deleted_at is null;
