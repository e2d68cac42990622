-- Runs that wait for runs: a step of a code-first run (ctx.call), or a task whose work is a run. The transaction that
-- ends the called run also passes its result to the caller. If no run waits for another, each function costs one lookup
-- in an empty table. The locks are in call/call_locks.sql.

-- Passes the results of runs that have ended to their callers. The caller of this function has locked the waiting steps
-- and tasks, and their runs: lock_callers(), lock_endable_runs() or wait_for_callers().
create or replace function {schema}.end_calls(run_ids bigint[], at timestamptz) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    calls record;
begin
    if not exists (select from {schema}.calls) then
        return;
    end if;
    with gone as (
        delete from {schema}.calls c where c.run_id = any(run_ids)
        returning c.run_id, c.caller_run_id, c.caller_step, c.caller_task
    )
    select array_agg(g.caller_run_id) filter (where g.caller_task is null) as callers,
           array_agg(g.caller_step) filter (where g.caller_task is null) as steps,
           array_agg(e.output) filter (where g.caller_task is null) as outputs,
           array_agg(e.message) filter (where g.caller_task is null) as messages,
           array_agg(g.caller_run_id) filter (where g.caller_task is not null) as task_callers,
           array_agg(g.caller_step) filter (where g.caller_task is not null) as task_steps,
           array_agg(g.caller_task) filter (where g.caller_task is not null) as task_indexes,
           array_agg(e.output) filter (where g.caller_task is not null) as task_outputs,
           array_agg(e.message) filter (where g.caller_task is not null) as task_messages
    into calls
    from gone g
    cross join lateral (
        select case when r.good then coalesce(r.output, 'null') end as output,
               case when not r.good then format(
                   '{text:called_run_ended}', r.run_id, q.name, r.status,
                   case when r.status = 'SUCCESS' then 'its output is not JSON'
                        else {schema}.error_message(r.error) end) end as message
        from (
            select r.run_id, r.workflow_id, r.status, r.output, r.error,
                   r.status = 'SUCCESS' and {schema}.json_errors(array[r.output]) is null as good
            from {schema}.runs r where r.run_id = g.run_id
            offset 0
        ) r
        join {schema}.queues q on q.queue_id = r.workflow_id
        offset 0
    ) e;
    if calls.callers is not null then
        perform {schema}.end_step_calls(calls.callers, calls.steps, calls.outputs, calls.messages, at);
    end if;
    if calls.task_callers is not null then
        perform {schema}.end_task_calls(
            calls.task_callers, calls.task_steps, calls.task_indexes, calls.task_outputs, calls.task_messages,
            at);
    end if;
end
$$;
comment on function {schema}.end_calls is 'Internal: passes the results of ended runs to the runs that wait for them.';

-- Steps of code-first runs become SUCCESS or ERROR, and their runs are resumed.
create or replace function {schema}.end_step_calls(
    callers bigint[], step_ids text[], outputs text[], messages text[], at timestamptz
) returns void
language plpgsql
as $$
#variable_conflict use_column
begin
    with ended as (
        update {schema}.steps s
        set status = case when u.message is null then 'SUCCESS' else 'ERROR' end, output = u.output,
            completed_at = end_step_calls.at,
            error = case when u.message is not null then format(
                '{"type":"call_failed","message":%s,"step":%s,"attempt":1}', to_json(u.message),
                to_json(u.step_id)) end
        from unnest(callers, step_ids, outputs, messages) as u (run_id, step_id, output, message)
        where s.run_id = any(array[u.run_id]) and s.step_id = u.step_id
          and s.status in ('PENDING', 'RUNNING', 'PAUSED')
        returning s.run_id, s.step_id, s.error, s.delivery
    )
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select e.run_id, case when e.error is null then '{event:step_succeeded}' else '{event:step_failed}' end,
           coalesce(e.error, format('{"step":%s,"attempt":1}', to_json(e.step_id::text))), e.delivery,
           end_step_calls.at
    from ended e
    cross join lateral (
        select w.audit from {schema}.runs r join {schema}.workflows w using (workflow_id)
        where r.run_id = e.run_id offset 0
    ) w
    where w.audit = 'all' or (w.audit <> 'off' and e.error is not null);
    perform {schema}.make_visible(r.run_id, r.workflow_id, at)
    from unnest(callers) as u (id)
    cross join lateral (
        select r.run_id, r.workflow_id from {schema}.runs r where r.run_id = u.id offset 0
    ) r;
    update {schema}.runs r
    set status = 'RUNNING', paused_at = null, updated_at = end_step_calls.at
    where r.run_id = any(callers) and r.status = 'PAUSED';
end
$$;
comment on function {schema}.end_step_calls is
    'Internal: passes the results of called runs to the steps that wait for them.';

-- Tasks are completed, or failed as if their worker had reported it.
create or replace function {schema}.end_task_calls(
    callers bigint[], step_slugs text[], task_indexes integer[], outputs text[], messages text[],
    at timestamptz
) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    n record;
begin
    select array_agg(t.message_id) as message_ids, array_agg(u.run_id) as runs,
           array_agg(t.workflow_id) as workflows, array_agg(t.priority) as priorities,
           array_agg(t.step_index) as indexes, array_agg(u.task_index) as tasks,
           array_agg(u.output) as outputs, array_agg(u.message) as errors,
           array_agg(u.message is null) as done,
           array_agg(case when u.message is not null then t.message_id end) as failed
    into n
    from unnest(callers, step_slugs, end_task_calls.task_indexes, outputs, messages)
        as u (run_id, step_slug, task_index, output, message)
    cross join lateral (
        select t.message_id, t.step_index, r.workflow_id, r.priority
        from {schema}.steps s
        join {schema}.tasks t on t.run_id = s.run_id and t.step_index = s.position
        join {schema}.runs r on r.run_id = s.run_id
        where s.run_id = u.run_id and s.step_id = u.step_slug and t.task_index = u.task_index
          and t.status = 'RUNNING' and r.status in ('QUEUED', 'RUNNING')
        offset 0
    ) t;
    if n.runs is null then  -- they have ended in the meantime
        return;
    end if;
    delete from {schema}.messages m using unnest(n.message_ids, n.done) as u (id, done)
    where m.message_id = any(array[u.id]) and u.done;
    perform {schema}.notify_flows(c.ended, c.queues, true)
    from {schema}.complete_held_tasks(
        n.done, n.runs, n.workflows, n.priorities, n.indexes, n.tasks, n.outputs, at) c;
    -- Lock again: the effects of the completed tasks may have ended a run, with its other tasks.
    if cardinality(array_remove(n.failed, null)) > 0 then
        n.failed := array(
            select case when exists (
                       select from {schema}.tasks t
                       where t.run_id = u.run_id and t.step_index = u.step_index and t.task_index = u.task_index
                         and t.status = 'RUNNING'
                       offset 0
                   ) then u.message_id end
            from unnest(n.failed, n.runs, n.indexes, n.tasks) with ordinality
                as u (message_id, run_id, step_index, task_index, place)
            order by u.place
        );
    end if;
    if cardinality(array_remove(n.failed, null)) > 0 then
        perform {schema}.notify_flows(f.ended, f.queues, true)
        from {schema}.fail_held_tasks(
            n.failed, n.runs, n.runs, n.indexes, n.tasks, n.errors, null, null, true, at) f;
    end if;
end
$$;
comment on function {schema}.end_task_calls is 'Internal: completes or fails tasks whose work was done by a run.';

-- Cancels the runs that are called by these runs, which have ended without success.
create or replace function {schema}.cancel_called(run_ids bigint[], at timestamptz) returns void
language plpgsql
as $$
declare
    call record;
begin
    if not exists (select from {schema}.calls) then
        return;
    end if;
    for call in
        select c.run_id, r.run_id as caller, r.status
        from {schema}.calls c join {schema}.runs r on r.run_id = c.caller_run_id
        where c.caller_run_id = any(run_ids)
        order by c.run_id
    loop
        -- The call is deleted first, so that the cancellation is not reported to the caller.
        delete from {schema}.calls c where c.run_id = call.run_id;
        perform {schema}.cancel_called_run(
            call.run_id, format('{text:caller_ended}', call.caller, call.status), at);
    end loop;
end
$$;
comment on function {schema}.cancel_called is 'Internal: cancels the runs that ended runs were waiting for.';

create or replace function {schema}.cancel_called_run(run_id bigint, reason text, at timestamptz) returns void
language plpgsql
as $$
declare
    run record;
begin
    if not exists (select from {schema}.runs r
                   where r.run_id = cancel_called_run.run_id
                     and r.status not in ('SUCCESS', 'ERROR', 'CANCELLED')) then
        return;
    end if;
    perform {schema}.wait_for_run(run_id);
    -- The run may have ended, or been deleted, while we waited for its lock.
    select w.audit <> 'off' as audited, coalesce(m.delivery, r.delivery) as delivery into run
    from {schema}.runs r
    join {schema}.workflows w using (workflow_id)
    left join {schema}.messages m on m.message_id = r.run_id
    where r.run_id = cancel_called_run.run_id and r.status not in ('SUCCESS', 'ERROR', 'CANCELLED');
    if found then
        perform {schema}.cancel_locked(run_id, reason, run.audited, run.delivery, at);
        perform {schema}.notify_run(run_id);
    end if;
end
$$;
comment on function {schema}.cancel_called_run is
    'Internal: cancels a called run whose result is no longer needed, if it has not ended.';

-- A task that waits for a run is completed or failed by a user: the run is no longer needed.
create or replace function {schema}.drop_call(run_id bigint, step_slug text, task_index integer, at timestamptz)
returns void
language plpgsql
as $$
declare
    called bigint;
begin
    if not exists (select from {schema}.calls) then
        return;
    end if;
    delete from {schema}.calls c
    where c.caller_run_id = drop_call.run_id and c.caller_step = drop_call.step_slug
      and c.caller_task = drop_call.task_index
    returning c.run_id into called;
    if called is not null then
        perform {schema}.cancel_called_run(
            called, format('{text:task_waits_no_longer}', task_index, step_slug, run_id), at);
    end if;
end
$$;
comment on function {schema}.drop_call is 'Internal: cancels the run that a task waits for.';
