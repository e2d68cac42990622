-- Creating a call: a step of a code-first run, or a task, starts to wait for another run. See call/calls.sql.


-- Creates the called runs; null if the caller's lease does not hold. A step or task that already waits for a run (table
-- `calls`) keeps waiting for that one, so each run is created once without an idempotency key, and no producer can take
-- its place. `queues` are the queues to wake up.
create or replace function {schema}.trigger_called(
    tids tid[], complete boolean, callers bigint[], steps text[], tasks integer[], workflows text[], inputs text[],
    priorities integer[], delays_ms bigint[], ats timestamptz[], idempotency_keys text[], max_attempts integer[],
    parent_run_ids bigint[], tag_places integer[], tags text[], wake boolean,
    out children bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    known   bigint[];   -- the called runs that exist already
    done    boolean[];  -- the step already has its result: nothing to wait for
    created boolean[];
    made    record;
begin
    select array_agg((select c.run_id from {schema}.calls c
                      where c.caller_run_id = u.caller and c.caller_step = u.step
                        and c.caller_task is not distinct from u.task) order by u.place),
           array_agg(exists (select from {schema}.steps s
                             where s.run_id = u.caller and s.step_id = u.step
                               and s.status in ('SUCCESS', 'ERROR', 'SKIPPED')
                             offset 0) order by u.place)
    into known, done
    from unnest(callers, steps, tasks) with ordinality as u (caller, step, task, place);
    complete := complete and coalesce(num_nonnulls(variadic known), 0) = 0 and (true = any(done)) is not true;
    if complete then
        select t.run_ids, t.created, t.workflow_ids into children, created, queues
        from {schema}.trigger_batch(
            workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts, parent_run_ids,
            tag_places, tags, wake) t;
    end if;
    for i in 1..coalesce(cardinality(tids), 0) loop
        if not complete then
            children[i] := case when tids[i] is not null then known[i] end;
        end if;
        continue when tids[i] is null or created[i] or known[i] is not null or done[i];
        loop
            -- A called run that has ended is not pruned before its caller got the result; a live one does not end
            -- before its caller is recorded.
            perform from {schema}.runs r where r.run_id = children[i] for share;
            exit when found;
            select * into made
            from {schema}.trigger_batch(
                workflows[i:i], inputs[i:i], priorities[i:i], delays_ms[i:i], ats[i:i], idempotency_keys[i:i],
                max_attempts[i:i], parent_run_ids[i:i],
                array(select 1 from unnest(tag_places) p where p = i),
                array(select t.tag from unnest(tag_places, tags) as t (place, tag) where t.place = i), wake);
            children[i] := made.run_ids[1];
            queues := queues || made.workflow_ids;
            exit when made.created[1];
        end loop;
    end loop;
end
$$;
comment on function {schema}.trigger_called is 'Internal: creates the runs that steps and tasks wait for.';

-- A run has at most one caller: a second one would not get its result.
create or replace function {schema}.add_calls(
    children bigint[], callers bigint[], steps text[], tasks integer[] default null
) returns void
language plpgsql
as $$
declare
    taken bigint;
begin
    insert into {schema}.calls (run_id, caller_run_id, caller_step, caller_task)
    select u.child, u.caller, u.step, u.task
    from unnest(children, callers, steps, tasks) as u (child, caller, step, task)
    where u.child is not null
    on conflict do nothing;
    select min(c.run_id) into taken
    from unnest(children, callers, steps, tasks) as u (child, caller, step, task)
    join {schema}.calls c on c.run_id = any(array[u.child])
    where (c.caller_run_id, c.caller_step) <> (u.caller, u.step) or c.caller_task is distinct from u.task;
    if taken is not null then
        raise exception 'run % is already called by another run; use a different idempotency key', taken
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.add_calls is 'Internal: records which run each step or task waits for.';

-- A run that had ended before it was called (found by its key) does not report its end again.
create or replace function {schema}.settle_ended_calls(children bigint[], at timestamptz) returns void
language plpgsql
as $$
begin
    perform {schema}.end_calls(array_agg(r.run_id), at)
    from {schema}.runs r
    where r.run_id = any(children) and r.status in ('SUCCESS', 'ERROR', 'CANCELLED')
    having count(*) > 0;
end
$$;
comment on function {schema}.settle_ended_calls is
    'Internal: passes the results of called runs that have already ended to their callers.';

-- Like suspend_runs(), for runs that wait at a step for another run, which is created here.
create or replace function {schema}.call_runs(
    run_ids           bigint[],
    deliveries        integer[],
    attempts          integer[],
    step_ids          text[],
    positions         integer[],
    step_attempts     integer[],
    inputs            text[],
    elapsed_us        bigint[],
    event_kinds       text[],
    event_data        text[],
    workflows         text[],
    child_inputs      text[],
    priorities        integer[] default null,
    delays_ms         bigint[] default null,
    ats               timestamptz[] default null,
    idempotency_keys  text[] default null,
    max_attempts      integer[] default null,
    parent_run_ids    bigint[] default null,
    tag_places        integer[] default null,
    tags              text[] default null,
    repeated          boolean default false,
    wake              boolean default true,
    out outcomes text[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at   timestamptz := {schema}.clock();
    forever  constant bigint := {rule:until_called_ms};
    held     record;
    made     record;
    size     constant integer := coalesce(cardinality(run_ids), 0);
    waiting  constant text[] := array_fill('PAUSED'::text, array[size]);
    invalid  boolean[] := {schema}.either_invalid(
        {schema}.invalid_new_runs(size, workflows, child_inputs, priorities, delays_ms, ats, idempotency_keys,
                                  max_attempts, tag_places, tags),
        {schema}.either_invalid(
            {schema}.invalid_steps(size, waiting, false, step_ids, positions, waiting, step_attempts, null, elapsed_us),
            {schema}.invalid_suspensions(size, waiting, null, null, attempts, null, null, null, null, inputs, null, null,
                                         null, event_data)));
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    select * into held from {schema}.lock_runs(run_ids, deliveries);
    select * into made
    from {schema}.trigger_called(
        held.tids, held.complete, run_ids, step_ids, null, workflows, child_inputs, priorities, delays_ms, ats, idempotency_keys,
        max_attempts, parent_run_ids, tag_places, tags, wake);
    queues := made.queues;
    perform {schema}.add_calls(made.children, run_ids, step_ids);
    -- Items without a lease have no called run: they must not be suspended, even if their rows could be locked by now.
    outcomes := {schema}.suspend_runs(
        run_ids,
        case when held.complete then deliveries else array(
            select case when u.tid is not null then u.delivery end
            from unnest(deliveries, held.tids) with ordinality as u (delivery, tid, place) order by u.place
        ) end,
        waiting,
        array_fill(forever, array[size]), null, attempts, null, step_ids, positions,
        waiting, step_attempts, inputs,
        pause_messages => array(
            select format('{text:waits_for_workflow}', u.workflow)
            from unnest(made.children, workflows) with ordinality as u (child, workflow, place) order by u.place),
        elapsed_us => elapsed_us, event_kinds => event_kinds, event_data => event_data, repeated => repeated);
    if not held.complete then
        outcomes := {schema}.mark_invalid({schema}.run_outcomes(run_ids, deliveries, held.tids, repeated), invalid);
    end if;
    perform {schema}.settle_ended_calls(made.children, now_at);
end
$$;
comment on function {schema}.call_runs is
    'Creates runs, and suspends leased runs at a step until those end. Returns one outcome per item.';

-- Each task waits for a run that is created here, and ends when that run ends.
create or replace function {schema}.delegate_tasks(
    message_ids       bigint[],
    deliveries        integer[],
    run_ids           bigint[],
    step_slugs        text[],
    task_indexes      integer[],
    workflows         text[],
    inputs            text[],
    priorities        integer[] default null,
    delays_ms         bigint[] default null,
    ats               timestamptz[] default null,
    idempotency_keys  text[] default null,
    max_attempts      integer[] default null,
    parent_run_ids    bigint[] default null,
    tag_places        integer[] default null,
    tags              text[] default null,
    repeated          boolean default false,
    wake              boolean default true,
    out outcomes text[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at   timestamptz := {schema}.clock();
    held     record;
    made     record;
    items    constant integer := coalesce(cardinality(message_ids), 0);
    invalid  boolean[] := {schema}.either_invalid(
        {schema}.invalid_task_names(items, step_slugs, task_indexes),
        {schema}.invalid_new_runs(items, workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts,
                                  tag_places, tags));
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    select * into held from {schema}.lock_task_leases(message_ids, deliveries, run_ids);
    select * into made
    from {schema}.trigger_called(
        held.tids, held.complete, run_ids, step_slugs, task_indexes, workflows, inputs, priorities, delays_ms, ats, idempotency_keys,
        max_attempts, parent_run_ids, tag_places, tags, wake);
    queues := made.queues;
    perform {schema}.add_calls(made.children, run_ids, step_slugs, task_indexes);
    update {schema}.messages m
    set state = 'waiting', visible_at = now_at + interval '{rule:until_called_ms} milliseconds', strikes = 0, worker_id = null
    where m.ctid = any(held.tids);
    outcomes := {schema}.mark_invalid({schema}.task_outcomes(
        array(select case when u.tid is not null then 'done' end
              from unnest(message_ids, held.tids) with ordinality as u (id, tid, place) order by u.place),
        message_ids, deliveries, run_ids, step_slugs, task_indexes,
        array['RUNNING', 'SUCCESS', 'ERROR', 'QUEUED'], repeated), invalid);
    perform {schema}.settle_ended_calls(made.children, now_at);
end
$$;
comment on function {schema}.delegate_tasks is
    'Creates runs that do the work of leased tasks; a task ends when its run ends. Returns one outcome per item.';
