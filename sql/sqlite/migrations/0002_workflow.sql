-- Workflows: their definitions, their runs, the recorded steps. sql/postgres/migrations/0002_workflow.sql explains the
-- design; tables and terms are the same here. There is no awaited_runs: waiters are woken by the watch on the file.

create table pawl_workflows (
    workflow_id     integer primary key references pawl_queues (queue_id),  -- its queue, same name
    max_attempts    integer not null default 3 check (max_attempts >= 1),
    backoff_base_ms integer not null default 1000 check (backoff_base_ms >= 0),
    backoff_cap_ms  integer not null default 300000 check (backoff_cap_ms >= 0),
    run_timeout_ms  integer check (run_timeout_ms > 0),  -- null: none
    dead_letter_workflow_id integer references pawl_workflows on delete set null,
    audit           text not null default 'exceptions' check (audit in ('off', 'exceptions', 'all')),
    created_at      integer not null
) strict;

create table pawl_runs (
    run_id          integer primary key,
    workflow_id     integer not null,
    status          text not null check (
        status = 'QUEUED' or status = 'RUNNING' or status = 'PAUSED' or status = 'SUCCESS'
        or status = 'ERROR' or status = 'CANCELLED'),
    priority        integer not null,
    max_attempts    integer check (max_attempts >= 1),  -- null: the workflow's
    delivery        integer not null default 0,  -- the hand-out that ended it
    worker_id       integer,                     -- the last one that claimed it
    parent_run_id   integer,
    origin_run_id   integer,                     -- what it is a retry or a fork of
    forked_at       text,                        -- of a fork: the first step not taken over
    idempotency_key text,
    created_at      integer not null,
    updated_at      integer not null,
    started_at      integer,
    paused_at       integer,
    completed_at    integer,
    deleted_at      integer,
    deleted_reason  text,
    input           text not null,
    output          text,
    error           text  -- of ERROR and CANCELLED: JSON with type, message, step, attempt
) strict;
create index pawl_runs_workflow on pawl_runs (workflow_id, run_id);
create index pawl_runs_live on pawl_runs (workflow_id, run_id) where completed_at is null;
create index pawl_runs_failed on pawl_runs (workflow_id, run_id) where error is not null;
create index pawl_runs_completed on pawl_runs (workflow_id, completed_at) where completed_at is not null;
create unique index pawl_runs_key on pawl_runs (workflow_id, idempotency_key)
    where idempotency_key is not null and deleted_at is null;
create index pawl_runs_origin on pawl_runs (origin_run_id) where origin_run_id is not null;

create table pawl_run_tags (
    tag    text not null,
    run_id integer not null,
    primary key (tag, run_id)
) strict, without rowid;
create index pawl_run_tags_run on pawl_run_tags (run_id);

create table pawl_steps (
    run_id          integer not null,
    step_id         text not null,
    position        integer not null,
    status          text not null check (
        status = 'PENDING' or status = 'RUNNING' or status = 'PAUSED' or status = 'SUCCESS'
        or status = 'ERROR' or status = 'SKIPPED' or status = 'CANCELLED'),
    attempt         integer not null,
    delivery        integer not null,  -- that recorded it
    worker_id       integer,
    started_at      integer,
    completed_at    integer,
    wake_at         integer,           -- of a sleep
    pause_message   text,
    pause_condition text,
    input           text,
    output          text,
    error           text,
    primary key (run_id, step_id)
) strict, without rowid;

-- Signals: resumes that arrived before the pause.
create table pawl_signals (
    run_id     integer not null,
    step_id    text not null,
    payload    text not null,
    created_at integer not null,
    primary key (run_id, step_id)
) strict, without rowid;

create table pawl_events (
    event_id  integer primary key autoincrement,
    run_id    integer not null,
    kind      text not null,
    data      text not null,
    worker_id integer,
    delivery  integer not null,
    at        integer not null
) strict;
create index pawl_events_run on pawl_events (run_id, event_id);
