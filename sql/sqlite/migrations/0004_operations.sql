-- Schedules, the outbox and retention. sql/postgres/migrations/0004_operations.sql explains the design; tables and
-- terms are the same here.

alter table pawl_workflows add column publish text not null default 'off' check (publish in ('off', 'alerts', 'ends'));
create index pawl_workflows_publishing on pawl_workflows (workflow_id) where publish <> 'off';

-- A schedule fires when next_fire_at has arrived. A scheduler that fires it names the version that it has read: of
-- several schedulers one succeeds, and the idempotency keys of the runs (name and fire time) stop the others.
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

-- Pending events of one aggregate are delivered in the order of their ids. A lease (visible_at, delivery) fences a
-- dispatcher that was too slow.
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
create index pawl_outbox_published on pawl_outbox (published_at, outbox_id) where status = 'PUBLISHED';
create index pawl_outbox_run on pawl_outbox (run_id) where run_id is not null;

-- How long rows are kept; without a row forever. Pruning removes rows from the oldest on, so each kind has an index in
-- that order that contains no other rows.
create table pawl_retention (
    retention_id integer primary key autoincrement,
    queue_id     integer references pawl_queues on delete cascade,  -- null: the whole store
    kind         text not null check (kind in
        ('success', 'failed', 'events', 'archive', 'dead-letters', 'outbox', 'deleted', 'workers')),
    keep_ms      integer check (keep_ms >= 0),
    keep_count   integer check (keep_count >= 0),
    bound_at     integer,  -- of keep_count: the newest that goes, as the last pass has found it
    bound_id     integer,
    done_at      integer,  -- of events: those of runs that ended until then are gone
    check (keep_ms is not null or keep_count is not null)
) strict;
create unique index pawl_retention_kind on pawl_retention (coalesce(queue_id, 0), kind);
insert into pawl_retention (kind, keep_ms) values ('deleted', 7 * 86400000);

-- One worker at a time prunes.
create table pawl_prune_turn (
    id     integer primary key check (id = 1),
    due_at integer not null
) strict;
insert into pawl_prune_turn (id, due_at) values (1, 0);

drop index pawl_runs_completed;
create index pawl_runs_success_ended on pawl_runs (workflow_id, completed_at, run_id)
    where completed_at is not null and error is null;
create index pawl_runs_failed_ended on pawl_runs (workflow_id, completed_at, run_id)
    where completed_at is not null and error is not null;
create index pawl_runs_deleted on pawl_runs (deleted_at, run_id) where deleted_at is not null;
create index pawl_archive_aged on pawl_archive (queue_id, archived_at, message_id) where dead = 0;
create index pawl_archive_dead_aged on pawl_archive (queue_id, archived_at, message_id) where dead = 1;
