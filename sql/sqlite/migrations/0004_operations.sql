-- What runs a store from day to day: schedules and the outbox. The story is told in
-- sql/postgres/migrations/0004_operations.sql; the tables and words are the same.

alter table pawl_workflows add column publish text not null default 'off' check (publish in ('off', 'alerts', 'ends'));
create index pawl_workflows_publishing on pawl_workflows (workflow_id) where publish <> 'off';

-- A schedule fires when next_fire_at has come. Who fires it names the version it has read: of several
-- schedulers one gets through, and the runs' idempotency keys (name and fire time) hold the rest off.
create table pawl_schedules (
    schedule_id     integer primary key autoincrement,
    name            text not null unique,
    version         integer not null default 1,
    workflow_id     integer not null references pawl_workflows on delete cascade,
    cron            text not null,
    time_zone       text not null,
    input           text not null,
    starts_at       integer,
    ends_at         integer,
    jitter_ms       integer not null check (jitter_ms >= 0),
    priority        integer not null,
    overlap         text not null check (overlap in ('allow', 'skip', 'queue-one')),
    catch_up        text not null check (catch_up in ('none', 'last', 'all')),
    catch_up_limit  integer not null check (catch_up_limit >= 1),
    paused          integer not null default 0 check (paused in (0, 1)),
    next_fire_at    integer,  -- null: never again
    last_fire_at    integer,
    last_run_id     integer,
    waiting_fire_at integer,  -- of queue-one: held back until the last run has ended
    created_at      integer not null
) strict;
create index pawl_schedules_due on pawl_schedules (next_fire_at)
    where paused = 0 and next_fire_at is not null;
create index pawl_schedules_waiting on pawl_schedules (schedule_id) where waiting_fire_at is not null;

-- Pending events of one aggregate are delivered in the order of their numbers. A lease (visible_at,
-- delivery) fences a dispatcher that was too slow.
create table pawl_outbox (
    outbox_id    integer primary key autoincrement,
    event_id     text not null,
    type         text not null,
    payload      text not null,
    aggregate    text not null,  -- '': none, in no order
    subject      text not null,
    traceparent  text,
    run_id       integer,
    status       text not null check (status = 'PENDING' or status = 'PUBLISHED' or status = 'PARKED'),
    leased       integer not null default 0 check (leased in (0, 1)),
    delivery     integer not null default 0,
    attempts     integer not null default 0,
    visible_at   integer not null,  -- when it is tried (again), or its lease ends
    last_error   text,
    created_at   integer not null,
    published_at integer
) strict;
create index pawl_outbox_pending on pawl_outbox (aggregate, outbox_id) where status = 'PENDING';
create index pawl_outbox_leased on pawl_outbox (aggregate) where leased = 1;
create index pawl_outbox_due on pawl_outbox (visible_at) where status = 'PENDING';
create index pawl_outbox_parked on pawl_outbox (outbox_id) where status = 'PARKED';
create index pawl_outbox_published on pawl_outbox (published_at) where status = 'PUBLISHED';
create index pawl_outbox_run on pawl_outbox (run_id) where run_id is not null;
