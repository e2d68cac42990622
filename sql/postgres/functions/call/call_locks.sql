-- Locks of runs that wait for other runs; the lock order is in functions/README.md. Calls are followed up to 100
-- levels: through an idempotency key a run can wait for itself, which would loop forever. If no run waits for another,
-- each function costs one lookup in an empty table.

-- Returns the runs whose callers, at all levels, could be locked.
create or replace function {schema}.lock_callers(run_ids bigint[]) returns bigint[]
language plpgsql
as $$
declare
    kept     bigint[] := run_ids;
    roots    bigint[] := run_ids;
    currents bigint[] := run_ids;
    callers  record;
begin
    for level in 1..{rule:max_call_depth} loop
        select array_agg(u.root) as roots, array_agg(c.caller_run_id) as ids,
               array_agg(c.caller_task is not null) as tasks
        into callers
        from unnest(roots, currents) as u (root, run_id)
        cross join lateral (
            select c.caller_run_id, c.caller_task from {schema}.calls c where c.run_id = u.run_id offset 0
        ) c;
        exit when callers.ids is null;
        kept := array(
            select k from unnest(kept) k
            except
            select u.root
            from unnest(callers.roots, callers.ids, callers.tasks) as u (root, id, is_task)
            left join lateral (
                select true as held from {schema}.messages m where m.message_id = u.id for update skip locked
            ) m on not u.is_task
            left join lateral (
                select true as held from {schema}.runs r where r.run_id = u.id for update skip locked
            ) r on u.is_task
            where m.held is null and r.held is null
              and case when u.is_task then exists (select from {schema}.runs r where r.run_id = u.id)
                       else exists (select from {schema}.messages m where m.message_id = u.id) end
        );
        select array_agg(u.root), array_agg(u.id) into roots, currents
        from unnest(callers.roots, callers.ids, callers.tasks) as u (root, id, is_task) where u.is_task;
        exit when roots is null;
    end loop;
    return kept;
end
$$;
comment on function {schema}.lock_callers is
    'Internal: locks the callers of runs without waiting; returns the runs for which this succeeded.';

-- Runs are about to fail, or steps of them to be skipped (decisions); the caller of this function has locked their rows
-- and their callers. Locks everything that ends with them: the runs that they wait for, the runs that wait for them at
-- a task without a remaining attempt, the tasks of those runs, and the runs that these tasks wait for. Returns the runs
-- for which another session holds one of these locks.
create or replace function {schema}.lock_called(decisions text[], run_ids bigint[], step_indexes integer[])
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
    blocked bigint[] := '{}';  -- a subset of run_ids, as are all roots
    busy    bigint[];
    ends    record;
    above   record;
    below   record;
begin
    if not exists (select from {schema}.calls) then
        return blocked;
    end if;
    select array_agg(u.run_id) as roots, array_agg(u.run_id) as runs, array_agg(u.decision) as decisions,
           array_agg(u.step_index) as indexes
    into ends
    from unnest(decisions, run_ids, step_indexes) as u (decision, run_id, step_index)
    where u.decision = 'fail' or u.decision like 'skip%';

    -- Up: tasks that fail with these runs.
    above := ends;
    for level in 1..{rule:max_call_depth} loop
        select array_agg(u.root) as roots, array_agg(t.run_id) as runs, array_agg(t.step_index) as indexes,
               array_agg(t.task_index) as tasks, array_agg(t.message_id) as messages, null::text[] as decisions
        into above
        from unnest(above.roots, above.runs, above.decisions) as u (root, run_id, decision)
        cross join lateral (
            select t.run_id, t.step_index, t.task_index, t.message_id
            from {schema}.calls c
            join {schema}.steps s on s.run_id = c.caller_run_id and s.step_id = c.caller_step
            join {schema}.tasks t on t.run_id = c.caller_run_id and t.step_index = s.position
                and t.task_index = c.caller_task
            where c.run_id = u.run_id and t.status = 'RUNNING'
            offset 0
        ) t
        where u.decision = 'fail';
        exit when above.runs is null;
        above.decisions := ({schema}.failure_decisions(
            above.messages, above.runs, above.runs, above.indexes, above.tasks, null, null)).decisions;
        -- If two items have the same caller, the first one decides, and the other is 'cancelled' or 'superseded'. The
        -- first may turn out to be blocked, so the locks are taken as if each of them decided.
        above.decisions := array_replace(array_replace(above.decisions, 'cancelled', 'fail'), 'superseded', 'skip');
        busy := {schema}.lock_siblings(above.decisions, above.runs, above.indexes, false);
        blocked := blocked || array(
            select u.root from unnest(above.roots, above.runs) as u (root, run_id) where u.run_id = any(busy)
        );
        ends.roots := ends.roots || above.roots;
        ends.runs := ends.runs || above.runs;
        ends.decisions := ends.decisions || above.decisions;
        ends.indexes := ends.indexes || above.indexes;
    end loop;

    -- Down: the runs that all these wait for are cancelled.
    for level in 1..{rule:max_call_depth} loop
        select array_agg(u.root) as roots, array_agg(c.run_id) as runs
        into below
        from unnest(ends.roots, ends.runs, ends.decisions, ends.indexes) as u (root, run_id, decision, step_index)
        cross join lateral (
            select c.run_id from {schema}.calls c
            where c.caller_run_id = u.run_id
              and (u.decision = 'fail' or c.caller_step = (
                      select s.step_id from {schema}.steps s
                      where s.run_id = u.run_id and s.position = u.step_index))
            offset 0
        ) c
        where u.decision = 'fail' or u.decision like 'skip%';
        exit when below.runs is null;
        blocked := blocked || array(
            select u.root
            from unnest(below.roots, below.runs) as u (root, id)
            left join lateral (
                select true as held from {schema}.messages m where m.message_id = u.id for update skip locked
            ) m on true
            left join lateral (
                select true as held from {schema}.runs r
                where r.run_id = u.id and r.remaining_steps is not null for update skip locked
            ) r on m.held is null
            where m.held is null and r.held is null and exists (
                select from {schema}.runs r where r.run_id = u.id and r.completed_at is null offset 0
            )
        );
        ends.roots := below.roots;
        ends.runs := below.runs;
        ends.decisions := array_fill('fail'::text, array[cardinality(below.runs)]);
        ends.indexes := null;
        busy := {schema}.lock_siblings(ends.decisions, ends.runs, null, false);
        blocked := blocked || array(
            select u.root from unnest(ends.roots, ends.runs) as u (root, run_id) where u.run_id = any(busy)
        );
    end loop;
    return blocked;
end
$$;
comment on function {schema}.lock_called is
    'Internal: locks all runs that end together with the given ones, without waiting.';

-- Of runs that are about to fail, and whose own rows are locked, returns those that can be failed now. For the others,
-- another session holds the lock of a caller, possibly on its way down to them, or of something else that ends with
-- them.
create or replace function {schema}.lock_endable_runs(run_ids bigint[]) returns bigint[]
language plpgsql
as $$
declare
    free    bigint[];
    blocked bigint[];
begin
    if cardinality(run_ids) = 0 or not exists (select from {schema}.calls) then
        return run_ids;
    end if;
    free := {schema}.lock_callers(run_ids);
    blocked := {schema}.lock_called(array_fill('fail'::text, array[coalesce(cardinality(free), 0)]), free, null);
    return array(select u from unnest(free) u where u <> all(blocked));
end
$$;
comment on function {schema}.lock_endable_runs is
    'Internal: the runs that can be failed now, with everything that ends with them locked.';

-- For finish_runs(): returns null in place of the tid of a run whose caller is locked by another session or, for a run
-- that fails (errors), if something that ends with it is locked.
create or replace function {schema}.exclude_busy_callers(
    run_ids bigint[], tids tid[], errors text[] default null
) returns tid[]
language plpgsql
as $$
declare
    kept    bigint[] := {schema}.lock_callers(run_ids);
    blocked bigint[] := '{}';
begin
    if cardinality(array_remove(errors, null)) > 0 then
        blocked := {schema}.lock_called(
            array(select case when u.error is not null and u.tid is not null and u.run_id = any(kept)
                              then 'fail' else '' end
                  from unnest(run_ids, tids, errors) with ordinality as u (run_id, tid, error, place)
                  order by u.place),
            run_ids, null);
    end if;
    return array(
        select case when u.run_id = any(kept) and u.run_id <> all(blocked) then u.tid end
        from unnest(run_ids, tids) with ordinality as u (run_id, tid, place) order by u.place
    );
end
$$;
comment on function {schema}.exclude_busy_callers is
    'Internal: excludes runs whose callers are locked by another session.';

-- For operations of users: waits for the locks of all direct and indirect callers, from the top down.
create or replace function {schema}.wait_for_callers(run_id bigint) returns void
language plpgsql
as $$
declare
    caller record;
begin
    if not exists (select from {schema}.calls) then
        return;
    end if;
    for caller in
        with recursive chain (id, is_task, depth) as (
            select c.caller_run_id, c.caller_task is not null, 1
            from {schema}.calls c where c.run_id = wait_for_callers.run_id
            union all
            select c.caller_run_id, c.caller_task is not null, h.depth + 1
            from chain h join {schema}.calls c on c.run_id = h.id where h.is_task and h.depth < {rule:max_call_depth}
        )
        select h.id, h.is_task from chain h order by h.depth desc
    loop
        if caller.is_task then
            perform from {schema}.runs r where r.run_id = caller.id for update;
        else
            perform from {schema}.messages m where m.message_id = caller.id for update;
        end if;
    end loop;
end
$$;
comment on function {schema}.wait_for_callers is 'Internal: locks all callers of a run, waiting for the locks.';
