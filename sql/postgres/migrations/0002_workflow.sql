-- Workflows: their definitions, their runs, the recorded steps.
--
-- A run has a message in its workflow's queue with the same id: run_id = message_id. The message stores when the run
-- continues and which delivery holds it (visible_at, delivery, lease). The run's row stores its definition and its
-- outcome. A replay starts from the step rows. When a run ends, its message is deleted, and with it the right to write:
-- every write of a worker names (run_id, delivery) and first locks the message's row (fencing).
--
-- Inputs and outputs are JSON that the engine does not interpret: stored as text, and checked on arrival. There are
-- no foreign keys between these tables: they would cost a lookup and a lock per row on the hot path, and the functions
-- ensure the same.
--
-- Indexes contain no column that a claim changes, so that starting a run is a HOT update of its row.

create table {schema}.workflows (
    workflow_id     bigint primary key references {schema}.queues (queue_id),  -- its queue, with the same name
    max_attempts    integer not null default 3 check (max_attempts >= 1),
    backoff_base_ms bigint not null default 1000 check (backoff_base_ms >= 0),
    backoff_cap_ms  bigint not null default 300000 check (backoff_cap_ms >= 0),
    run_timeout_ms  bigint check (run_timeout_ms > 0),  -- null: no timeout
    dead_letter_workflow_id bigint references {schema}.workflows on delete set null,
    audit           text not null default 'exceptions' check (audit in ('off', 'exceptions', 'all')),
    created_at      timestamptz not null
);

create table {schema}.runs (
    run_id          bigint primary key,
    workflow_id     bigint not null,
    status          text not null
        check (status in ('QUEUED', 'RUNNING', 'PAUSED', 'SUCCESS', 'ERROR', 'CANCELLED')),
    priority        integer not null,
    max_attempts    integer check (max_attempts >= 1),  -- null: the workflow's
    delivery        integer not null default 0,  -- the delivery that ended it
    worker_id       bigint,                      -- the last worker that claimed it
    parent_run_id   bigint,
    origin_run_id   bigint,                      -- the run of which it is a retry or a fork
    forked_at       text,                        -- for a fork: the first step that was not copied
    idempotency_key text,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    started_at      timestamptz,
    paused_at       timestamptz,
    completed_at    timestamptz,
    deleted_at      timestamptz,
    deleted_reason  text,
    input           text not null,
    output          text,
    error           text  -- for ERROR and CANCELLED: JSON with type, message, step, attempt
) with (fillfactor = 45);  -- room for the row version that a claim writes, so that the update stays HOT
-- The id is negated: newest first, and a plan for `run_id = ...` that was created while the table was empty cannot use
-- one of these in place of the primary key.
create index runs_workflow on {schema}.runs (workflow_id, (-run_id));
create index runs_live on {schema}.runs (workflow_id, (-run_id)) where completed_at is null;
create index runs_failed on {schema}.runs (workflow_id, (-run_id)) where error is not null;
create index runs_completed on {schema}.runs (workflow_id, completed_at) where completed_at is not null;
create unique index runs_key on {schema}.runs (workflow_id, idempotency_key)
    where idempotency_key is not null and deleted_at is null;
create index runs_origin on {schema}.runs (origin_run_id) where origin_run_id is not null;
create index runs_created on {schema}.runs using brin (created_at);

create table {schema}.run_tags (
    tag    text not null,
    run_id bigint not null,
    primary key (tag, run_id)
);
create index run_tags_run on {schema}.run_tags (run_id);

create table {schema}.steps (
    run_id          bigint not null,
    step_id         text collate "C" not null,
    position        integer not null,
    status          text not null check (status in
        ('PENDING', 'RUNNING', 'PAUSED', 'SUCCESS', 'ERROR', 'SKIPPED', 'CANCELLED')),
    attempt         integer not null,
    delivery        integer not null,  -- that recorded it
    worker_id       bigint,
    started_at      timestamptz,
    completed_at    timestamptz,
    wake_at         timestamptz,       -- for a sleep
    pause_message   text,
    pause_condition text,
    input           text,
    output          text,
    error           text,
    primary key (run_id, step_id)
);

-- Signals: resumes that arrived before the pause.
create table {schema}.signals (
    run_id     bigint not null,
    step_id    text collate "C" not null,
    payload    text not null,
    created_at timestamptz not null,
    primary key (run_id, step_id)
);

create table {schema}.events (
    event_id  bigint generated always as identity primary key,
    run_id    bigint not null,
    kind      text not null,
    data      text not null,
    worker_id bigint,
    delivery  integer not null,
    at        timestamptz not null
);
create index events_run on {schema}.events (run_id, event_id);

-- Runs that have waiters: the session that ends them sends a NOTIFY. Only a hint, so the table is unlogged.
create unlogged table {schema}.awaited_runs (
    run_id bigint primary key,
    since  timestamptz not null
);
