-- Flows: workflows that are declared as steps with dependencies. sql/postgres/migrations/0003_flow.sql explains the
-- design; tables and terms are the same here.

alter table pawl_workflows add column is_flow integer not null default 0 check (is_flow in (0, 1));
alter table pawl_workflows add column task_timeout_ms integer check (task_timeout_ms > 0);

create table pawl_flow_steps (
    workflow_id    integer not null references pawl_workflows,
    step_index     integer not null check (step_index >= 0),
    step_slug      text not null,
    step_type      text not null check (step_type in ('single', 'map')),
    deps_count     integer not null check (deps_count >= 0),
    max_attempts   integer check (max_attempts >= 1),    -- null: the flow's; so are the next two
    base_delay_ms  integer check (base_delay_ms >= 0),
    timeout_ms     integer check (timeout_ms >= 0),      -- 0: none
    start_delay_ms integer not null check (start_delay_ms >= 0),
    required_input_pattern  text,
    forbidden_input_pattern text,
    when_unmet     text not null check (when_unmet in ('skip', 'skip-cascade', 'fail')),
    when_exhausted text not null check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
    created_at     integer not null,
    primary key (workflow_id, step_index),
    unique (workflow_id, step_slug)
) strict, without rowid;

create table pawl_flow_deps (
    workflow_id integer not null,
    step_index  integer not null,
    dep_index   integer not null check (dep_index < step_index),
    primary key (workflow_id, step_index, dep_index),
    foreign key (workflow_id, step_index) references pawl_flow_steps,
    foreign key (workflow_id, dep_index) references pawl_flow_steps
) strict, without rowid;
create index pawl_flow_deps_dependents on pawl_flow_deps (workflow_id, dep_index, step_index);

alter table pawl_runs add column remaining_steps integer;

alter table pawl_steps add column remaining_deps integer;
alter table pawl_steps add column initial_tasks integer;
alter table pawl_steps add column remaining_tasks integer;
alter table pawl_steps add column skip_reason text check (
    skip_reason = 'condition_unmet' or skip_reason = 'handler_failed'
    or skip_reason = 'dependency_skipped');

-- For the message of a task: the task, and its lease (timeout + 2 s; null: the lease of the claim).
alter table pawl_messages add column run_id integer;
alter table pawl_messages add column step_index integer;
alter table pawl_messages add column task_index integer;
alter table pawl_messages add column lease_ms integer check (lease_ms > 0);

create table pawl_tasks (
    run_id       integer not null,
    step_index   integer not null,
    task_index   integer not null,
    message_id   integer not null,
    status       text not null check (
        status = 'QUEUED' or status = 'RUNNING' or status = 'SUCCESS' or status = 'ERROR'
        or status = 'SKIPPED' or status = 'CANCELLED'),
    attempts     integer not null default 0,  -- starts
    delivery     integer not null default 0,  -- of the last start
    worker_id    integer,                     -- of the last start
    queued_at    integer not null,
    started_at   integer,
    completed_at integer,
    input        text,   -- of a map's task: its element
    output       text,
    error        text,   -- of the last failed attempt
    primary key (run_id, step_index, task_index)
) strict, without rowid;

-- Runs that are called: by a step of a code-first run (ctx.call), or by a task whose work they do.
create table pawl_calls (
    run_id        integer primary key,  -- the one that is waited for
    caller_run_id integer not null,
    caller_step   text not null,
    caller_task   integer  -- null: a step of a code-first run
) strict;
create index pawl_calls_caller on pawl_calls (caller_run_id);
