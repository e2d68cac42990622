-- Flows: workflows that are declared as steps with dependencies.
--
-- A flow is a workflow with `is_flow`; its steps and their dependencies are in flow_steps and flow_deps. step_index
-- counts up from 0, and a dependency always has a smaller index than its dependent: so no cycle can be declared.
--
-- A run of a flow is a row in `runs`, without a message. Each of its steps is a row in `steps` (step_id is the slug,
-- position the step_index) from the start, with counters:
--
--   remaining_deps   dependencies that are not done. At 0 the step starts: its tasks are created.
--   remaining_tasks  tasks without success. At 0 the step is SUCCESS, and its dependents count down.
--   runs.remaining_steps   steps that are neither SUCCESS nor SKIPPED. At 0 the run is SUCCESS.
--
-- A task has a message in the flow's queue, which names it (run_id, step_index, task_index) and stays the same over
-- all attempts. When the task ends, its message is deleted, and with it the right to report.
--
-- Locks: a session that changes the state of a run of a flow first locks its row in `runs` (batches of workers: skip
-- locked), then messages, then tasks and steps. A claim locks messages, and rows of runs only if they are not locked.

alter table {schema}.workflows
    add column is_flow boolean not null default false,
    add column task_timeout_ms bigint check (task_timeout_ms > 0);  -- for a flow; null: no timeout

create table {schema}.flow_steps (
    workflow_id    bigint not null references {schema}.workflows,
    step_index     integer not null check (step_index >= 0),
    step_slug      text collate "C" not null,
    step_type      text not null check (step_type in ('single', 'map')),
    deps_count     integer not null check (deps_count >= 0),
    max_attempts   integer check (max_attempts >= 1),    -- null: that of the flow, as for the next two
    base_delay_ms  bigint check (base_delay_ms >= 0),
    timeout_ms     bigint check (timeout_ms >= 0),       -- 0: no timeout
    start_delay_ms bigint not null check (start_delay_ms >= 0),
    required_input_pattern  json,
    forbidden_input_pattern json,
    when_unmet     text not null check (when_unmet in ('skip', 'skip-cascade', 'fail')),
    when_exhausted text not null check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
    created_at     timestamptz not null,
    primary key (workflow_id, step_index),
    unique (workflow_id, step_slug)
);

create table {schema}.flow_deps (
    workflow_id bigint not null,
    step_index  integer not null,
    dep_index   integer not null check (dep_index < step_index),
    primary key (workflow_id, step_index, dep_index),
    foreign key (workflow_id, step_index) references {schema}.flow_steps,
    foreign key (workflow_id, dep_index) references {schema}.flow_steps
);
create index flow_deps_dependents on {schema}.flow_deps (workflow_id, dep_index, step_index);

alter table {schema}.runs add column remaining_steps integer;  -- null: not a run of a flow

alter table {schema}.steps
    add column remaining_deps  integer,  -- only for steps of flows, as the next three
    add column initial_tasks   integer,  -- null: not started
    add column remaining_tasks integer,
    add column skip_reason     text
        check (skip_reason in ('condition_unmet', 'handler_failed', 'dependency_skipped'));

-- For the message of a task: the task, and its lease (timeout + 2 s; null: the lease of the claim).
alter table {schema}.messages
    add column run_id     bigint,
    add column step_index integer,
    add column task_index integer,
    add column lease_ms   bigint check (lease_ms > 0);

-- No index except the key: a claim and a report find a task through its message or by its key.
create table {schema}.tasks (
    run_id       bigint not null,
    step_index   integer not null,
    task_index   integer not null,
    message_id   bigint not null,
    status       text not null check (status in
        ('QUEUED', 'RUNNING', 'SUCCESS', 'ERROR', 'SKIPPED', 'CANCELLED')),
    attempts     integer not null default 0,  -- number of starts
    delivery     integer not null default 0,  -- of the last start
    worker_id    bigint,                      -- of the last start
    queued_at    timestamptz not null,
    started_at   timestamptz,
    completed_at timestamptz,
    input        text,   -- for a task of a map: its element
    output       text,
    error        text,   -- of the last failed attempt
    primary key (run_id, step_index, task_index)
) with (fillfactor = 60);  -- starting and ending a task are HOT updates

-- Runs that are called: by a step of a code-first run (ctx.call), or by a task whose work they do. The transaction that
-- ends such a run also sets the result of the step or task.
create table {schema}.calls (
    run_id        bigint primary key,  -- the called run
    caller_run_id bigint not null,
    caller_step   text collate "C" not null,
    caller_task   integer  -- null: a step of a code-first run
);
create index calls_caller on {schema}.calls (caller_run_id);
