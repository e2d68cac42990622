
-- The outbox: the position of a claim is a time and a number. Pages by status, type and aggregate read one
-- index each; outbox_settled leaves pending events to outbox_pending.
drop index {schema}.outbox_due;
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
-- first such claim on (see 19_flow_lanes.sql); for the others both indexes are empty and cost nothing.
alter table {schema}.workflows
    add column lanes text not null default 'off' check (lanes in ('off', 'opening', 'open')),
    add column lanes_snapshot pg_snapshot;
alter table {schema}.messages add column lane integer;
create index messages_lane_ready on {schema}.messages (queue_id, lane, (-priority), message_id)
    where state = 'ready' and lane is not null;
create index messages_lane_due on {schema}.messages (queue_id, lane, visible_at)
    where state <> 'ready' and lane is not null;

-- Runs whose events are sent by NOTIFY: see 28_follow.sql. Unlogged: after a crash of the server a follower asks again.
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
