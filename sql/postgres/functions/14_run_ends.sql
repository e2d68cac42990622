-- What the end of a run brings with it, whoever ends it.

-- Of runs that end without success: nothing of them stays open.
create or replace function {schema}.close_runs(run_ids bigint[], at timestamptz) returns void
language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    perform {schema}.close_tasks(run_ids, at);
    update {schema}.steps s set status = 'CANCELLED', completed_at = close_runs.at
    where s.run_id = any(run_ids) and s.status in ('PENDING', 'RUNNING', 'PAUSED');
    delete from {schema}.signals s where s.run_id = any(run_ids);
    perform {schema}.cancel_called(run_ids, at);
end
$$;
comment on function {schema}.close_runs is 'Internal: closes the open steps of runs that end without success.';

-- Those of the runs that somebody waits for; with `wake` they are told as this transaction commits.
create or replace function {schema}.take_waiters(run_ids bigint[], wake boolean) returns bigint[]
language plpgsql
as $$
declare
    awaited bigint[];
begin
    with gone as (
        delete from {schema}.awaited_runs a
        where a.run_id = any(run_ids) and exists (select from {schema}.awaited_runs)
        returning a.run_id
    )
    select array_agg(g.run_id) into awaited from gone g;
    if wake and awaited is not null then
        perform pg_notify('pawl_{schema_name}', 'run:' || u) from unnest(awaited) u;
    end if;
    return awaited;
end
$$;
comment on function {schema}.take_waiters is 'Internal: those of the runs that somebody waits for.';

-- Ends runs that nobody can work on any more: poison, or no handler anywhere. The caller has locked
-- their messages, and who waits for them: free_to_end().
create or replace function {schema}.fail_runs(run_ids bigint[], types text[], messages text[])
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    with gone as (
        delete from {schema}.messages m where m.message_id = any(run_ids)
        returning m.message_id, m.delivery
    ),
    failed as (
        update {schema}.runs r
        set status = 'ERROR', delivery = g.delivery, updated_at = now_at, completed_at = now_at,
            paused_at = null,
            error = format('{"type":%s,"message":%s}', to_json(n.type), to_json(n.message))
        from gone g join unnest(run_ids, types, messages) as n (run_id, type, message)
            on n.run_id = g.message_id
        where r.run_id = any(array[g.message_id]) and r.completed_at is null
        returning r.run_id, r.workflow_id, r.delivery, n.type, r.error
    )
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select f.run_id, f.type, f.error, f.delivery, now_at
    from failed f join {schema}.workflows w using (workflow_id)
    where w.audit <> 'off';
    perform {schema}.close_runs(run_ids, now_at);
    perform {schema}.trigger_dead_letters(run_ids);
    perform {schema}.end_calls(run_ids, now_at);
    perform {schema}.publish_run_ends(run_ids, now_at, types);
    perform {schema}.take_waiters(run_ids, true);
end
$$;
comment on function {schema}.fail_runs is 'Internal: ends runs that nobody can work on.';
