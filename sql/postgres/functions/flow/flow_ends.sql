-- Runs of flows that end without success. See flow/flow_engine.sql.

-- Removes the messages of open tasks and sets the tasks to CANCELLED. Lock order: messages, then tasks.
create or replace function {schema}.close_tasks(run_ids bigint[], at timestamptz) returns void
language plpgsql
as $$
declare
    messages bigint[];
begin
    messages := array(
        select t.message_id from {schema}.tasks t
        where t.run_id = any(run_ids) and t.status in ('QUEUED', 'RUNNING')
    );
    if cardinality(messages) = 0 then
        return;
    end if;
    delete from {schema}.messages m where m.message_id = any(messages);
    update {schema}.tasks t set status = 'CANCELLED', completed_at = close_tasks.at
    where t.run_id = any(run_ids) and t.status in ('QUEUED', 'RUNNING');
end
$$;
comment on function {schema}.close_tasks is 'Internal: cancels the open tasks of runs that end without success.';

-- A failed step ends its run as ERROR with the same error. Of two steps of one run the first one counts.
create or replace function {schema}.fail_steps(
    run_ids bigint[], step_indexes integer[], errors text[], at timestamptz
) returns void
language plpgsql
as $$
begin
    with failed as (
        update {schema}.steps s
        set status = 'ERROR', error = u.error, completed_at = fail_steps.at
        from (
            select distinct on (u.run_id) u.run_id, u.error, f.step_slug, r.worker_id, r.audited
            from unnest(run_ids, step_indexes, errors) with ordinality as u (run_id, step_index, error, place)
            cross join lateral (
                select r.workflow_id, r.worker_id, w.audit <> 'off' as audited
                from {schema}.runs r join {schema}.workflows w using (workflow_id)
                where r.run_id = u.run_id and r.status in ('QUEUED', 'RUNNING') offset 0
            ) r
            cross join lateral (
                select f.step_slug from {schema}.flow_steps f
                where f.workflow_id = r.workflow_id and f.step_index = u.step_index offset 0
            ) f
            order by u.run_id, u.place
        ) u
        where s.run_id = any(array[u.run_id]) and s.step_id = u.step_slug
        returning s.run_id, s.error, u.worker_id, u.audited
    )
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select f.run_id, '{event:step_failed}', f.error, f.worker_id, 0, fail_steps.at from failed f where f.audited;
    perform {schema}.fail_flow_runs(run_ids, errors, '{event:run_failed}', at);
end
$$;
comment on function {schema}.fail_steps is 'Internal: ends runs of flows as ERROR because of a failed step.';

-- Runs that have already ended are not changed.
create or replace function {schema}.fail_flow_runs(
    run_ids bigint[], errors text[], event_kind text, at timestamptz
) returns void
language plpgsql
as $$
declare
    ended bigint[];
begin
    with failed as (
        update {schema}.runs r
        set status = 'ERROR', error = u.error, updated_at = fail_flow_runs.at,
            completed_at = fail_flow_runs.at
        from (
            select distinct on (u.run_id) u.run_id, u.error
            from unnest(fail_flow_runs.run_ids, errors) with ordinality as u (run_id, error, place)
            order by u.run_id, u.place
        ) u
        where r.run_id = any(array[u.run_id]) and r.status in ('QUEUED', 'RUNNING')
        returning r.run_id, r.workflow_id, r.error, r.worker_id
    ),
    told as (
        insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
        select f.run_id, event_kind, f.error, f.worker_id, 0, fail_flow_runs.at
        from failed f join {schema}.workflows w using (workflow_id)
        where w.audit <> 'off'
    )
    select array_agg(f.run_id order by f.run_id) into ended from failed f;
    if ended is null then
        return;
    end if;
    perform {schema}.close_runs(ended, at);
    perform {schema}.trigger_dead_letters(ended);
    perform {schema}.end_calls(ended, at);
    -- If pawl itself ended the run, the event is an alert.
    perform {schema}.publish_run_ends(
        ended, at, array_fill(nullif(event_kind, '{event:run_failed}'), array[cardinality(ended)])
    );
end
$$;
comment on function {schema}.fail_flow_runs is
    'Internal: ends runs of flows as ERROR and closes their open steps and tasks.';
