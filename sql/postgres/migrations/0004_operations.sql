-- Schedules, the outbox and retention.

alter table {schema}.workflows
    add column publish text not null default 'off' check (publish in ('off', 'alerts', 'ends'));
create index workflows_publishing on {schema}.workflows (workflow_id) where publish <> 'off';
-- Usually empty: workflows with another audit level cost one lookup in it.
create index workflows_audited on {schema}.workflows (workflow_id) where audit = 'all';

-- A schedule fires when next_fire_at has arrived. A scheduler that fires it names the version that it has read: of
-- several schedulers one succeeds, and the idempotency keys of the runs (name and fire time) stop the others.
create table {schema}.schedules (
    schedule_id     bigint generated always as identity primary key,
    name            text not null unique,
    version         bigint not null default 1,
    workflow_id     bigint not null references {schema}.workflows on delete cascade,
    cron            text not null,
    time_zone       text not null,
    input           text not null,
    starts_at       timestamptz,
    ends_at         timestamptz,
    jitter_ms       bigint not null check (jitter_ms >= 0),
    priority        integer not null,
    overlap         text not null check (overlap in ('allow', 'skip', 'queue-one')),
    catch_up        text not null check (catch_up in ('none', 'last', 'all')),
    catch_up_limit  integer not null check (catch_up_limit >= 1),
    paused          boolean not null default false,
    next_fire_at    timestamptz,  -- null: never again
    last_fire_at    timestamptz,
    last_run_id     bigint,
    waiting_fire_at timestamptz,  -- for queue-one: delayed until the last run has ended
    created_at      timestamptz not null
);
create index schedules_due on {schema}.schedules (next_fire_at)
    where not paused and next_fire_at is not null;
create index schedules_waiting on {schema}.schedules (schedule_id) where waiting_fire_at is not null;

-- Pending events of one aggregate are delivered in the order of their ids. A lease (visible_at, delivery) fences a
-- dispatcher that was too slow.
create table {schema}.outbox (
    outbox_id    bigint generated always as identity primary key,
    event_id     text not null,
    type         text not null,
    payload      text not null,
    aggregate    text collate "C" not null,  -- '': no aggregate, and no order
    subject      text not null,
    traceparent  text,
    run_id       bigint,
    status       text not null check (status in ('PENDING', 'PUBLISHED', 'PARKED')),
    leased       boolean not null default false,
    delivery     integer not null default 0,
    attempts     integer not null default 0,
    visible_at   timestamptz not null,  -- time of the next attempt, or end of the lease
    last_error   text,
    created_at   timestamptz not null,
    published_at timestamptz
) with (fillfactor = 70);
create index outbox_pending on {schema}.outbox (aggregate, outbox_id) where status = 'PENDING';
create index outbox_leased on {schema}.outbox (aggregate) where leased;
create index outbox_due on {schema}.outbox (visible_at) where status = 'PENDING';
create index outbox_parked on {schema}.outbox (outbox_id) where status = 'PARKED';
create index outbox_published on {schema}.outbox (published_at, outbox_id) where status = 'PUBLISHED';
create index outbox_run on {schema}.outbox (run_id) where run_id is not null;

-- How long rows are kept; without a row forever. Pruning removes rows from the oldest on, so each kind has an index in
-- that order that contains no other rows: a million failed runs that are kept cost nothing when successful ones are
-- pruned. The two indexes of ended runs replace runs_completed: every run is in one of them. Like all indexes of runs
-- they contain no column that a claim changes.
create table {schema}.retention (
    retention_id bigint generated always as identity primary key,
    queue_id     bigint references {schema}.queues on delete cascade,  -- null: the whole store
    kind         text not null check (kind in
        ('success', 'failed', 'events', 'archive', 'dead-letters', 'outbox', 'deleted', 'workers')),
    keep_ms      bigint check (keep_ms >= 0),
    keep_count   bigint check (keep_count >= 0),
    bound_at     timestamptz,  -- for keep_count: the newest row that is removed, as found by the last pass
    bound_id     bigint,
    done_at      timestamptz,  -- for events: those of runs that ended before are gone
    check (keep_ms is not null or keep_count is not null)
);
create unique index retention_kind on {schema}.retention ((coalesce(queue_id, 0)), kind);
insert into {schema}.retention (kind, keep_ms) values ('deleted', 7 * 86400000::bigint);

-- One worker at a time prunes.
create table {schema}.prune_turn (
    id     integer primary key check (id = 1),
    due_at timestamptz not null
);
insert into {schema}.prune_turn (id, due_at) values (1, 'epoch');

drop index {schema}.runs_completed;
create index runs_success_ended on {schema}.runs (workflow_id, completed_at, run_id)
    where completed_at is not null and error is null;
create index runs_failed_ended on {schema}.runs (workflow_id, completed_at, run_id)
    where completed_at is not null and error is not null;
create index runs_deleted on {schema}.runs (deleted_at, run_id) where deleted_at is not null;
create index archive_aged on {schema}.archive (queue_id, archived_at, message_id) where not dead;
create index archive_dead_aged on {schema}.archive (queue_id, archived_at, message_id) where dead;
