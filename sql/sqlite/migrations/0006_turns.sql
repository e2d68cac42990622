-- Locks and reads that other roles or a backlog cannot prolong.

-- outbox_turn, flow_turn and dead_letter_turn of PostgreSQL are not needed here: there is one writer at a time.

-- The RUNNING runs of flows, for lists and counts: a page must not read all QUEUED runs. Set when the first task of a
-- run starts, and removed when the run ends: statements for other runs do not change it.
alter table pawl_runs add column flow_started integer;
update pawl_runs set flow_started = 1 where remaining_steps is not null and status = 'RUNNING';
create index pawl_runs_flow_started on pawl_runs (workflow_id, created_at, run_id) where flow_started = 1;
