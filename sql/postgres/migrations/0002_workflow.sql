-- Workflows: their definitions, their runs, the recorded steps.
--
-- A run stands in its workflow's queue as a message with the same number: run_id = message_id. The
-- message says when the run goes on and in whose hands it is (visible_at, delivery, lease); the run row
-- says what it is and what became of it; the step rows are what a replay starts from. When a run ends
-- its message is gone, and with it the right to write anything: every write of a worker names
-- (run_id, delivery) and takes the message's row lock first (fencing).
--
-- Input and outputs are JSON that the engine never looks into: kept as text, checked where it comes in.
-- No foreign keys between these tables: one look-up and one lock per row on the hot path, for what the
-- functions see to anyway.
--
-- Indexes name no column that a claim changes, so that starting a run is a HOT update of its row.

create table {schema}.workflows (
    workflow_id     bigint primary key references {schema}.queues (queue_id),  -- its queue, same name
    max_attempts    integer not null default 3 check (max_attempts >= 1),
    backoff_base_ms bigint not null default 1000 check (backoff_base_ms >= 0),
    backoff_cap_ms  bigint not null default 300000 check (backoff_cap_ms >= 0),
    run_timeout_ms  bigint check (run_timeout_ms > 0),  -- null: none
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
    delivery        integer not null default 0,  -- the hand-out that ended it
    worker_id       bigint,                      -- the last one that claimed it
    parent_run_id   bigint,
    origin_run_id   bigint,                      -- what it is a retry or a fork of
    forked_at       text,                        -- of a fork: the first step not taken over
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
    error           text  -- of ERROR and CANCELLED: JSON with type, message, step, attempt
) with (fillfactor = 45);  -- room for the version that a claim writes beside each row: the update stays HOT
-- The id is negated: newest first, and no plan for `run_id = ...`, made while the table was empty, can
-- mistake one of these for the primary key.
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
    wake_at         timestamptz,       -- of a sleep
    pause_message   text,
    pause_condition text,
    input           text,
    output          text,
    error           text,
    primary key (run_id, step_id)
);

-- Resumes that came before their pause.
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

-- Runs that somebody waits for: whoever ends them sends a NOTIFY. Only hints, so nothing is logged.
create unlogged table {schema}.awaited_runs (
    run_id bigint primary key,
    since  timestamptz not null
);
