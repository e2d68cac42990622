
-- The outbox: pages by status, type and aggregate read one index each.
create index pawl_outbox_status on pawl_outbox (status, outbox_id);
create index pawl_outbox_type on pawl_outbox (status, type, outbox_id);
create index pawl_outbox_aggregate on pawl_outbox (status, aggregate, outbox_id);
drop index if exists pawl_outbox_parked;
-- flow_steps.feeds_map of PostgreSQL is not needed here: the flow's plan in memory has it.

-- A task that a worker holds uses no attempt if the worker crashes: strikes limit it, as for runs.
update pawl_queues set max_strikes = 5
where max_strikes = 1000 and queue_id in (select workflow_id from pawl_workflows where is_flow = 1);

-- Lanes: the tasks of one step in their flow's queue, for workers that claim only some steps. A flow has them after the
-- first such claim; for other flows the index is empty. PostgreSQL needs an intermediate state; SQLite, with
-- one writer at a time, does not.
alter table pawl_workflows add column lanes integer not null default 0 check (lanes in (0, 1));
alter table pawl_messages add column lane integer;
create index pawl_messages_lane on pawl_messages (
    queue_id, lane, (state = 'ready'), (case when state = 'ready' then -priority else visible_at end), message_id
) where lane is not null;

-- followed_runs of PostgreSQL is not needed here: there is no NOTIFY.
-- Leases of workers have bounds, as on PostgreSQL.
update pawl_workers set lease_ms = min(max(lease_ms, 1), 3162240000000)
where lease_ms not between 1 and 3162240000000;
-- Increases with each heartbeat. A smaller number than before tells a worker that the store was restored from an older
-- backup.
alter table pawl_workers add column beats integer not null default 0;
-- Bounded reads, and protection against damage of the store.

-- Lists and counts read only the rows that they return, independent of the history. One index has the runs in groups,
-- each in the order of creation: 0 QUEUED and RUNNING, 1 PAUSED, 2 SUCCESS, 3 ERROR, 4 CANCELLED. Like all indexes of
-- runs it contains no column that a claim changes: so `cancelled`, and not the status, separates cancelled runs from
-- failed ones.
alter table pawl_runs add column cancelled integer;  -- 1: CANCELLED; null otherwise
update pawl_runs set cancelled = 1 where status = 'CANCELLED';
alter table pawl_runs add column run_group integer generated always as (
    case when completed_at is null then case when paused_at is null then 0 else 1 end
         when error is null then 2 when cancelled then 4 else 3 end
) virtual;
drop index if exists pawl_runs_workflow;
drop index if exists pawl_runs_live;
drop index if exists pawl_runs_failed;
create index pawl_runs_group on pawl_runs (run_group, workflow_id, created_at, run_id);
create index pawl_runs_deleted_key on pawl_runs (workflow_id, idempotency_key, created_at, run_id)
    where idempotency_key is not null and deleted_at is not null;
create index pawl_messages_returned on pawl_messages (queue_id, message_id) where state = 'ready' and delivery > 0;
create index pawl_workers_live on pawl_workers (worker_id) where status <> 'STOPPED';
create index pawl_workers_heard on pawl_workers (heartbeat_at, worker_id);

alter table pawl_retention add column inherited integer not null default 0 check (inherited in (0, 1));
insert or ignore into pawl_retention (kind, keep_ms) values ('workers', 7 * 86400000);
-- Fire times of schedules have a separate column of keys, so that no key of a user can conflict with one.
alter table pawl_runs add column fire_key text;
update pawl_runs set fire_key = idempotency_key, idempotency_key = null
where idempotency_key like 'schedule:%Z' and exists (
    select 1 from pawl_run_tags t
    where t.run_id = pawl_runs.run_id and t.tag like 'schedule:%'
      and substr(pawl_runs.idempotency_key, 1, length(t.tag) + 1) = t.tag || ':'
);
create unique index pawl_runs_fire_key on pawl_runs (workflow_id, fire_key)
    where fire_key is not null and deleted_at is null;
