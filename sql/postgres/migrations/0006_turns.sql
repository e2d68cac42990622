-- Locks and reads that other roles or a backlog cannot prolong.

-- Tables without rows that are locked in place of advisory locks, because any role can take an advisory lock, and only
-- the owner of the functions can lock these tables. A table lock writes nothing.
create table {schema}.outbox_turn ();       -- claims exclusively, reports shared
create table {schema}.flow_turn ();         -- ensure_flow, if it creates or replaces a flow
create table {schema}.dead_letter_turn ();  -- changes of dead letter workflows

-- The RUNNING runs of flows, for lists and counts: a page must not read all QUEUED runs. Set when the first task of a
-- run starts; claims of other runs do not change it.
alter table {schema}.runs add column flow_started boolean;
update {schema}.runs set flow_started = true where remaining_steps is not null and status = 'RUNNING';
create index runs_flow_started on {schema}.runs (workflow_id, created_at, (run_id + 0))
    where flow_started and completed_at is null;
