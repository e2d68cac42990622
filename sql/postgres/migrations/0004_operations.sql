-- What runs a store from day to day: schedules and the outbox.

alter table {schema}.workflows
    add column publish text not null default 'off' check (publish in ('off', 'alerts', 'ends'));
create index workflows_publishing on {schema}.workflows (workflow_id) where publish <> 'off';
-- Mostly empty: what only `all` asks for costs the others one look into it.
create index workflows_audited on {schema}.workflows (workflow_id) where audit = 'all';

-- A schedule fires when next_fire_at has come. Who fires it names the version it has read: of several
-- schedulers one gets through, and the runs' idempotency keys (name and fire time) hold the rest off.
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
    waiting_fire_at timestamptz,  -- of queue-one: held back until the last run has ended
    created_at      timestamptz not null
);
create index schedules_due on {schema}.schedules (next_fire_at)
    where not paused and next_fire_at is not null;
create index schedules_waiting on {schema}.schedules (schedule_id) where waiting_fire_at is not null;

-- Pending events of one aggregate are delivered in the order of their numbers. A lease (visible_at,
-- delivery) fences a dispatcher that was too slow.
create table {schema}.outbox (
    outbox_id    bigint generated always as identity primary key,
    event_id     text not null,
    type         text not null,
    payload      text not null,
    aggregate    text collate "C" not null,  -- '': none, in no order
    subject      text not null,
    traceparent  text,
    run_id       bigint,
    status       text not null check (status in ('PENDING', 'PUBLISHED', 'PARKED')),
    leased       boolean not null default false,
    delivery     integer not null default 0,
    attempts     integer not null default 0,
    visible_at   timestamptz not null,  -- when it is tried (again), or its lease ends
    last_error   text,
    created_at   timestamptz not null,
    published_at timestamptz
) with (fillfactor = 70);
create index outbox_pending on {schema}.outbox (aggregate, outbox_id) where status = 'PENDING';
create index outbox_leased on {schema}.outbox (aggregate) where leased;
create index outbox_due on {schema}.outbox (visible_at) where status = 'PENDING';
create index outbox_parked on {schema}.outbox (outbox_id) where status = 'PARKED';
create index outbox_published on {schema}.outbox (published_at) where status = 'PUBLISHED';
create index outbox_run on {schema}.outbox (run_id) where run_id is not null;
