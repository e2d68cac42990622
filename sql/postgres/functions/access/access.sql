-- Which role may call which function. Installed after all files that define functions.
--
-- A role needs no privilege on any table: it calls SECURITY DEFINER functions, which run with the rights of the
-- owner of the schema. So a program that may only trigger runs cannot change the tables directly. No role may call
-- anything until grant_access() allows it.

-- Each function of the schema and the lowest access level that may call it; 'owner' for helpers and for the functions
-- of this file. A function that is not listed here is for operators.
create or replace function {schema}.function_access() returns table (signature regprocedure, access text)
language sql stable
as $$
    select p.oid::regprocedure, case
        when coalesce(obj_description(p.oid, 'pg_proc'), 'Internal: ') like 'Internal: %'
             or p.proname in ('function_access', 'grant_access') then 'owner'
        when p.proname in (
            'clock', 'queue_id', 'workflow_ids', 'enqueue', 'enqueue_batch', 'trigger', 'trigger_one',
            'trigger_batch', 'signal', 'resume', 'resume_early', 'cancel', 'await_run', 'follow_run', 'unfollow_run', 'has_live_handler', 'metrics', 'workflow_metrics',
            'list_messages', 'list_archive', 'list_workflows', 'list_workers', 'get_run', 'get_run_with_steps', 'list_runs',
            'count_runs', 'list_steps', 'list_events', 'run_history', 'lineage', 'start_flow', 'start_flows',
            'get_flow_shape', 'list_tasks', 'publish', 'publish_batch', 'list_outbox', 'outbox_lag_ms',
            'list_schedules', 'list_retention', 'backlog', 'find_runs', 'enqueue_batch_jsonb', 'start_flows_jsonb',
            'queue_stats', 'workflow_stats', 'run_counts', 'worker_counts', 'list_held',
            'find_lost_runs') then 'producer'
        when p.proname in (
            'dequeue', 'claim', 'claim_queue', 'settle', 'archive', 'delete', 'release', 'hand_back', 'extend', 'fail', 'fail_or_bury', 'bury',
            'claim_runs', 'record_step', 'record_steps', 'add_step_events', 'finish_run', 'finish_runs',
            'retry_runs', 'pause', 'reject_resume', 'suspend_runs', 'register_worker', 'heartbeat', 'beat_worker', 'list_leases', 'transition_worker', 'stop_worker', 'fail_unhandled', 'call_runs',
            'poll_for_tasks', 'poll_for_step_tasks', 'read_with_poll', 'start_tasks', 'claim_tasks', 'complete_task', 'complete_tasks',
            'fail_task', 'fail_tasks', 'delegate_tasks', 'explain_tasks', 'due_schedules', 'fire_schedule',
            'publish_steps', 'claim_outbox', 'claim_outbox_from', 'report_outbox', 'plan_prune', 'prune_batch', 'claim_prune', 'prune') then 'worker'
        else 'operator' end
    from pg_proc p
    where p.pronamespace = '{schema}'::regnamespace and p.prokind = 'f'
$$;
comment on function {schema}.function_access is
    'Lists the functions of the schema with the lowest access level that may call each: producer, worker, operator or owner.';

-- Relations that are read without a function: by the C++ library, and the views of docs/flows.md by every role.
create or replace function {schema}.readable_relations() returns regclass[]
language sql stable
as $$
    select array['{schema}.schema_version', '{schema}.schema_manifest', '{schema}.queues', '{schema}.workflows',
                 '{schema}.run_rows', '{schema}.run_info', '{schema}.run_ends', '{schema}.step_rows',
                 '{schema}.step_info', '{schema}.event_rows', '{schema}.event_info', '{schema}.flow_runs',
                 '{schema}.step_states', '{schema}.task_states']::regclass[]
$$;
comment on function {schema}.readable_relations is 'Internal: the tables and views that every access level may read.';

-- Builds its statements as text, because GRANT takes names and no parameters. The names come from the catalogue, or
-- were looked up in it.
create or replace function {schema}.grant_access(role_name name, access text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    levels    constant text[] := array['none', 'producer', 'worker', 'operator'];
    signature regprocedure;
begin
    if array_position(levels, grant_access.access) is null then
        raise exception 'unknown access ''%''; use %', grant_access.access, array_to_string(levels, ', ')
            using errcode = 'PW003';
    end if;
    if not exists (select from pg_roles r where r.rolname = role_name) then
        raise exception 'role ''%'' does not exist; create it first', role_name using errcode = 'PW003';
    end if;
    if exists (select from pg_class c join pg_roles r on r.oid = c.relowner
               where c.oid = '{schema}.messages'::regclass and r.rolname = role_name) then
        raise exception 'role ''%'' owns the schema and already has every access', role_name using errcode = 'PW003';
    end if;
    execute format('revoke all on all functions in schema {schema} from %I', role_name);
    execute format('revoke all on all tables in schema {schema} from %I', role_name);
    execute format('revoke all on schema {schema} from %I', role_name);
    if grant_access.access = 'none' then
        return;
    end if;
    execute format('grant usage on schema {schema} to %I', role_name);
    execute format(
        'grant select on %s to %I', array_to_string({schema}.readable_relations(), ', '), role_name);
    for signature in
        select f.signature from {schema}.function_access() f
        where array_position(levels, f.access) <= array_position(levels, grant_access.access)
    loop
        execute format('grant execute on function %s to %I', signature, role_name);
    end loop;
end
$$;
comment on function {schema}.grant_access is
    'Grants a role the access level producer, worker or operator, in place of its earlier level; none revokes all access.';

-- Done by each install, because `create or replace` resets it. Excluded functions read only what every access level may
-- read; get_run and clock are inlined into the caller's statement, which SECURITY DEFINER would prevent.
do $$
declare
    signature regprocedure;
begin
    for signature in
        select f.signature from {schema}.function_access() f join pg_proc p on p.oid = f.signature
        where f.access <> 'owner' and p.proname not in ('clock', 'queue_id', 'workflow_ids', 'get_run')
    loop
        execute format('alter function %s security definer set search_path = pg_catalog, pg_temp', signature);
    end loop;
end
$$;
