-- Start of runs of flows, and delivery of their tasks.

-- Creates all steps of new runs and the tasks of root steps, which are not delivered before `visible`. With `strict`,
-- an input that is not the array that a root map needs is refused; otherwise such a run is created as ERROR.
create or replace function {schema}.start_flow_runs(
    run_ids bigint[], workflow_ids bigint[], visible timestamptz[], at timestamptz, strict boolean
) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    ready   record;
    special record;
    empty   bigint[];  -- runs without steps end when they start
    in_lane boolean := current_setting('transaction_isolation') <> 'read committed';  -- see flow/lanes.sql
begin
    with new_steps as materialized (
        select u.run_id, u.workflow_id, u.visible, r.priority, f.step_slug, f.step_index, f.deps_count,
               f.deps_count = 0 and f.plain as starts, f.start_delay_ms, f.lease_ms, f.lanes
        from unnest(start_flow_runs.run_ids, start_flow_runs.workflow_ids, start_flow_runs.visible)
            with ordinality as u (run_id, workflow_id, visible, place)
        cross join lateral (
            select r.priority from {schema}.runs r where r.run_id = u.run_id offset 0
        ) r
        cross join lateral (
            select f.step_slug, f.step_index, f.deps_count, f.start_delay_ms,
                   {schema}.is_plain_step(f.step_type, f.required_input_pattern,
                                          f.forbidden_input_pattern) as plain,
                   {schema}.task_lease_ms(f.timeout_ms, w.task_timeout_ms) as lease_ms, w.lanes
            from {schema}.workflows w join {schema}.flow_steps f using (workflow_id)
            where w.workflow_id = u.workflow_id
            order by f.step_index
            offset 0
        ) f
        order by u.place, f.step_index
    ),
    added as (
        insert into {schema}.steps
            (run_id, step_id, position, status, attempt, delivery, started_at, remaining_deps, initial_tasks,
             remaining_tasks)
        select n.run_id, n.step_slug, n.step_index, case when n.starts then 'RUNNING' else 'PENDING' end, 0, 0,
               case when n.starts then start_flow_runs.at end, n.deps_count,
               case when n.starts then 1 end, case when n.starts then 1 end
        from new_steps n
    ),
    made as (
        insert into {schema}.messages
            (queue_id, priority, state, visible_at, enqueued_at, payload, run_id, step_index, task_index,
             lease_ms, lane)
        select n.workflow_id, n.priority, case when t.start > start_flow_runs.at then 'waiting' else 'ready' end,
               t.start, start_flow_runs.at, 'null', n.run_id, n.step_index, 0,
               n.lease_ms, case when n.lanes <> 'off' or in_lane then n.step_index end
        from new_steps n
        cross join lateral (
            select greatest(n.visible, start_flow_runs.at) + {schema}.ms(n.start_delay_ms) as start
        ) t
        where n.starts
        returning message_id, run_id, step_index
    ),
    tasks as (
        insert into {schema}.tasks (run_id, step_index, task_index, message_id, status, queued_at)
        select m.run_id, m.step_index, 0, m.message_id, 'QUEUED', start_flow_runs.at from made m
    )
    select array_agg(n.run_id) as runs, array_agg(n.workflow_id) as workflows,
           array_agg(n.priority) as priorities, array_agg(n.step_index) as indexes,
           array_agg(n.visible) as visible
    into ready
    from new_steps n where n.deps_count = 0 and not n.starts;
    if ready.runs is not null then
        select * into special
        from {schema}.start_conditional_steps(
            ready.runs, ready.workflows, ready.priorities, ready.indexes, ready.visible, at);
        if strict then
            perform {schema}.refuse_root_inputs(special.failed_runs, special.failed_indexes, special.failed_errors);
        end if;
        perform {schema}.finish_conditional_steps(special, at);
    end if;
    with ended as (
        update {schema}.runs r
        set status = 'SUCCESS', output = '{}', updated_at = start_flow_runs.at, started_at = start_flow_runs.at,
            completed_at = start_flow_runs.at
        where r.run_id = any(start_flow_runs.run_ids) and r.remaining_steps = 0 and r.status = 'QUEUED'
        returning r.run_id, r.workflow_id
    ),
    told as (
        insert into {schema}.events (run_id, kind, data, delivery, at)
        select e.run_id, '{event:run_succeeded}', '{}', 0, start_flow_runs.at
        from ended e
        cross join lateral (
            select from {schema}.workflows w where w.workflow_id = e.workflow_id and w.audit = 'all' offset 0
        ) w
    )
    select array_agg(e.run_id) into empty from ended e;
    if empty is not null then
        perform {schema}.publish_run_ends(empty, at);
    end if;
end
$$;
comment on function {schema}.start_flow_runs is
    'Internal: creates the steps of new runs and starts those without dependencies.';

create or replace function {schema}.refuse_root_inputs(run_ids bigint[], step_indexes integer[], errors text[])
returns void
language plpgsql
as $$
declare
    refused record;
begin
    select q.name as flow_slug, f.step_slug into refused
    from unnest(run_ids, step_indexes, errors) as u (run_id, step_index, error)
    join {schema}.runs r on r.run_id = u.run_id
    join {schema}.queues q on q.queue_id = r.workflow_id
    join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = u.step_index
    where u.error::json ->> 'type' = 'not_an_array'
    order by u.run_id, u.step_index limit 1;
    if found then
        raise exception '{text:input_must_be_array}',
            refused.flow_slug, refused.step_slug using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.refuse_root_inputs is
    'Internal: refuses new runs whose input is not the array that a root map needs.';

-- Processes the result of start_conditional_steps(): first failures, then the dependents of steps that are done.
create or replace function {schema}.finish_conditional_steps(special record, at timestamptz) returns void
language plpgsql
as $$
begin
    if special.failed_runs is not null then
        perform {schema}.fail_steps(special.failed_runs, special.failed_indexes, special.failed_errors, at);
    end if;
    perform {schema}.advance_runs(
        array_agg(u.run_id) filter (where not u.fails), array_agg(u.workflow_id) filter (where not u.fails),
        array_agg(u.priority) filter (where not u.fails), array_agg(u.step_index) filter (where not u.fails),
        special.finished, false, at)
    from (
        select u.*, coalesce(u.run_id = any(special.failed_runs), false) as fails
        from unnest(special.run_ids, special.workflow_ids, special.priorities, special.step_indexes)
            as u (run_id, workflow_id, priority, step_index)
    ) u;
end
$$;
comment on function {schema}.finish_conditional_steps is
    'Internal: fails or advances runs after steps with conditions or maps were evaluated.';

-- For messages that the caller has locked: their tasks, with attempts and limits.
create or replace function {schema}.tasks_of_messages(
    message_ids bigint[], out run_ids bigint[], out step_indexes integer[], out task_indexes integer[],
    out statuses text[], out attempts integer[], out max_attempts integer[]
)
language sql
as $$
    select array_agg(m.run_id), array_agg(m.step_index), array_agg(m.task_index), array_agg(t.status),
           array_agg(t.attempts), array_agg(t.max_attempts)
    from (
        select m.*
        from unnest(message_ids) with ordinality as u (id, place)
        left join lateral (
            select m.run_id, m.step_index, m.task_index, m.queue_id
            from {schema}.messages m where m.message_id = u.id offset 0
        ) m on true
        order by u.place
    ) m
    left join lateral (
        select t.status, t.attempts, coalesce(f.max_attempts, r.max_attempts, w.max_attempts) as max_attempts
        from {schema}.tasks t
        join {schema}.runs r on r.run_id = t.run_id
        join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = t.step_index
        join {schema}.workflows w on w.workflow_id = r.workflow_id
        where t.run_id = m.run_id and t.step_index = m.step_index and t.task_index = m.task_index
        offset 0
    ) t on true
$$;
comment on function {schema}.tasks_of_messages is 'Internal: the tasks of messages.';

-- Fails tasks of pollers whose lease ended without a report and that have no attempt left. The caller has locked their
-- messages. Tasks that another session has locked are due again after a moment. Returns whether any task was failed.
create or replace function {schema}.fail_exhausted(message_ids bigint[], at timestamptz) returns boolean
language plpgsql
as $$
declare
    n record;
begin
    select array_agg(t.id) as messages, array_agg(t.run_id) as runs, array_agg(t.step_index) as indexes,
           array_agg(t.task_index) as tasks,
           array_agg(format('{text:task_unreported}', t.attempts)) as errors
    into n
    from {schema}.tasks_of_messages(message_ids) a
    cross join lateral unnest(message_ids, a.run_ids, a.step_indexes, a.task_indexes, a.statuses, a.attempts,
                              a.max_attempts)
        as t (id, run_id, step_index, task_index, status, attempts, max_attempts)
    where t.status = 'RUNNING' and t.attempts >= t.max_attempts;
    if n.messages is null then
        return false;
    end if;
    perform {schema}.fail_messages(n.messages, n.runs, n.indexes, n.tasks, n.errors, at);
    return true;
end
$$;
comment on function {schema}.fail_exhausted is 'Internal: fails tasks that have no attempt left.';

-- Fails tasks that no worker can execute. Tasks that another session has locked are due again after a moment.
create or replace function {schema}.fail_messages(
    message_ids bigint[], run_ids bigint[], step_indexes integer[], task_indexes integer[], errors text[],
    at timestamptz
) returns void
language plpgsql
as $$
declare
    settled record;
begin
    select * into settled
    from {schema}.fail_held_tasks(
        message_ids, ({schema}.lock_flow_runs(run_ids)).locked, run_ids, step_indexes, task_indexes, errors,
        array_fill(true, array[cardinality(message_ids)]), null, false, at);
    update {schema}.messages m
    set state = 'waiting', visible_at = fail_messages.at + interval '{rule:busy_end_pause_ms} milliseconds'
    from unnest(message_ids, settled.outcomes) as u (message_id, outcome)
    where m.message_id = any(array[u.message_id]) and u.outcome = 'busy';
    perform {schema}.notify_flows(settled.ended, settled.queues, true);
end
$$;
comment on function {schema}.fail_messages is 'Internal: fails tasks whose messages the caller has locked.';

-- Only messages of tasks are affected.
create or replace function {schema}.bury_tasks(message_ids bigint[], reasons text[], at timestamptz) returns void
language plpgsql
as $$
begin
    perform {schema}.fail_messages(
        array_agg(m.message_id), array_agg(m.run_id), array_agg(m.step_index), array_agg(m.task_index),
        array_agg(u.reason), at)
    from unnest(message_ids, reasons) as u (id, reason)
    cross join lateral (
        select m.message_id, m.run_id, m.step_index, m.task_index from {schema}.messages m
        where m.message_id = u.id and m.run_id is not null
        offset 0
    ) m
    having count(*) > 0;
end
$$;
comment on function {schema}.bury_tasks is 'Internal: fails the tasks among messages that become dead letters.';

-- The claim of a worker that executes tasks: claim(), and starts the tasks. With a worker_id the lease is the worker's,
-- and the worker extends it; if it ends, the next claim restores the attempt, and strikes count. Without a worker_id
-- the lease is the task's timeout + 2 s, and its end uses an attempt. The payload is the task's input: {"run": <the
-- run's input>, "<dependency>": <its output>, ...}, or the element for a task of a map. As in claim(), the last row has
-- no message_id.
-- `steps` restricts the claim to steps of a single flow; with a poller_id, lease and worker are those of a poll.
drop function if exists {schema}.claim_tasks(  -- the parameters changed
    bigint[], integer, bigint, bigint, bigint, bigint, integer, bigint, timestamptz, timestamptz);
create or replace function {schema}.claim_tasks(
    queue_ids        bigint[],
    qty              integer,
    lease_ms         bigint default null,
    worker_id        bigint default null,
    default_lease_ms bigint default {rule:default_lease_ms},
    after_queue      bigint default 0,
    floor_priority   integer default null,
    floor_message    bigint default null,
    looked_at        timestamptz default null,
    swept_at         timestamptz default null,
    steps            text[] default null,
    poller_id        bigint default null
) returns table (
    message_id bigint, queue_id bigint, priority integer, delivery integer, strikes integer,
    attempts integer, enqueued_at timestamptz, visible_at timestamptz, last_error text, payload text,
    now_at timestamptz, next_due timestamptz, looked boolean, last_queue bigint, more boolean,
    run_id bigint, step_slug text, task_index integer, task_attempts integer, max_attempts integer,
    timeout_ms bigint
)
language plpgsql
as $$
#variable_conflict use_column
declare
    c         record;
    exhausted boolean := false;
    executor  bigint := coalesce(claim_tasks.worker_id, claim_tasks.poller_id);
begin
    if {schema}.may_claim(claim_tasks.qty, claim_tasks.lease_ms, claim_tasks.default_lease_ms,
                          claim_tasks.floor_priority, claim_tasks.looked_at, claim_tasks.swept_at) is not true then
        perform {schema}.refuse_claim(claim_tasks.qty, claim_tasks.lease_ms, claim_tasks.default_lease_ms,
                                      claim_tasks.floor_priority, claim_tasks.looked_at, claim_tasks.swept_at);
    end if;
    -- Collected first, because tasks must be read as they are behind the claim's locks.
    if claim_tasks.steps is not null then
        perform {schema}.open_lanes(claim_tasks.queue_ids[1]);
        select array_agg(m.message_id) as ids, array_agg(m.queue_id) as queues,
               array_agg(m.priority) as priorities, array_agg(m.delivery) as deliveries,
               array_agg(m.strikes) as strikes, array_agg(m.attempts) as attempts,
               array_agg(m.enqueued_at) as enqueued, array_agg(m.visible_at) as visible,
               array_agg(m.last_error) as errors,
               max(m.now_at) as at, max(m.next_due) as due, true as looked,
               claim_tasks.queue_ids[1] as last_queue, bool_or(m.more) as more, max(m.strikes) as most_strikes,
               max(m.notes) as notes
        into c
        from {schema}.claim_lanes(
            claim_tasks.queue_ids[1], array(
                select f.step_index from {schema}.flow_steps f
                where f.workflow_id = claim_tasks.queue_ids[1] and f.step_slug = any(claim_tasks.steps)
            ), claim_tasks.qty, claim_tasks.lease_ms, claim_tasks.worker_id, claim_tasks.default_lease_ms
        ) m;
    else
        select array_agg(m.message_id) as ids, array_agg(m.queue_id) as queues,
               array_agg(m.priority) as priorities, array_agg(m.delivery) as deliveries,
               array_agg(m.strikes) as strikes, array_agg(m.attempts) as attempts,
               array_agg(m.enqueued_at) as enqueued, array_agg(m.visible_at) as visible,
               array_agg(m.last_error) as errors,
               max(m.now_at) as at, max(m.next_due) as due, bool_or(m.looked) as looked,
               max(m.last_queue) as last_queue, bool_or(m.more) as more, max(m.strikes) as most_strikes,
               (array_agg(m.payload) filter (where m.message_id is null))[1]::text as notes
        into c
        from {schema}.claim(
            claim_tasks.queue_ids, claim_tasks.qty, claim_tasks.lease_ms, claim_tasks.worker_id,
            claim_tasks.default_lease_ms, claim_tasks.after_queue, claim_tasks.floor_priority,
            claim_tasks.floor_message, claim_tasks.looked_at, claim_tasks.swept_at
        ) m;
    end if;
    if c.most_strikes > 1 then
        exhausted := {schema}.fail_exhausted(c.ids, c.at);
    end if;

    return query
    with started as (
        update {schema}.tasks t
        set status = 'RUNNING', attempts = t.attempts + 1, delivery = n.delivery,
            worker_id = executor, started_at = c.at
        from (
            select u.*, m.run_id, m.step_index, m.task_index
            from unnest(c.ids, c.queues, c.priorities, c.deliveries, c.strikes, c.attempts, c.enqueued,
                        c.visible, c.errors)
                as u (id, queue_id, priority, delivery, strikes, attempts, enqueued, visible, error)
            cross join lateral (
                select m.run_id, m.step_index, m.task_index from {schema}.messages m
                where m.message_id = u.id and m.delivery = u.delivery and m.state || '' = 'leased'
                offset 0
            ) m
        ) n
        where t.run_id = any(array[n.run_id]) and t.step_index = n.step_index
          and t.task_index = n.task_index and t.status in ('QUEUED', 'RUNNING')
        returning n.id, n.queue_id, n.priority, n.delivery, n.strikes, n.attempts, n.enqueued, n.visible,
                  n.error, t.run_id, t.step_index, t.task_index, t.attempts as starts, t.input
    )
    select s.id, s.queue_id, s.priority, s.delivery, s.strikes, s.attempts, s.enqueued, s.visible, s.error,
           coalesce(s.input, concat('{"run":', r.input, ',' || d.members, '}')),
           null::timestamptz, null::timestamptz, null::boolean, null::bigint, null::boolean,
           s.run_id, f.step_slug, s.task_index, s.starts,
           coalesce(f.max_attempts, r.max_attempts, f.flow_max_attempts), f.timeout_ms
    from started s
    cross join lateral (
        select r.input, r.max_attempts from {schema}.runs r where r.run_id = s.run_id offset 0
    ) r
    cross join lateral (
        select f.step_slug::text, f.max_attempts, f.deps_count, w.max_attempts as flow_max_attempts,
               nullif(coalesce(f.timeout_ms, w.task_timeout_ms), 0) as timeout_ms
        from {schema}.flow_steps f join {schema}.workflows w using (workflow_id)
        where f.workflow_id = s.queue_id and f.step_index = s.step_index
        offset 0
    ) f
    cross join lateral (
        -- Written out instead of calling deps_members(), which would be planned and started again for each row.
        select string_agg('"' || o.step_id || '":' || o.output, ',' order by o.position) as members
        from {schema}.flow_deps d
        cross join lateral (
            select x.step_slug from {schema}.flow_steps x
            where x.workflow_id = d.workflow_id and x.step_index = d.dep_index offset 0
        ) x
        cross join lateral (
            select o.step_id, o.position, o.output from {schema}.steps o
            where o.run_id = s.run_id and o.step_id = x.step_slug and o.status = 'SUCCESS' offset 0
        ) o
        where d.workflow_id = s.queue_id and d.step_index = s.step_index
          and f.deps_count > 0 and s.input is null
    ) d;

    if {schema}.keeps_all_events() then
        perform {schema}.add_task_starts(c.ids, c.at);
    end if;
    perform {schema}.begin_runs(c.ids, executor, c.at);
    return query select null::bigint, null::bigint, null::integer, null::integer, null::integer,
        null::integer, null::timestamptz, null::timestamptz, null::text, c.notes,
        c.at, c.due, c.looked, c.last_queue, c.more or exhausted,
        null::bigint, null::text, null::integer, null::integer, null::integer, null::bigint;
end
$$;
comment on function {schema}.claim_tasks is
    'Like claim(), and starts the tasks of the messages: returns their inputs, attempts and limits.';

-- The first task of a run makes it RUNNING. A run that another session has locked is skipped: a later report or claim
-- of the run sets it.
create or replace function {schema}.begin_runs(message_ids bigint[], worker_id bigint, at timestamptz)
returns void
language plpgsql
as $$
begin
    update {schema}.runs r
    set status = 'RUNNING', started_at = begin_runs.at, updated_at = begin_runs.at,
        worker_id = begin_runs.worker_id, flow_started = true
    where r.ctid = any(array(
        select q.tid
        from unnest(message_ids) as u (id)
        cross join lateral (
            select m.run_id from {schema}.messages m where m.message_id = u.id offset 0
        ) m
        cross join lateral (
            select r.ctid as tid from {schema}.runs r
            where r.run_id = m.run_id and r.status = 'QUEUED'
            for update skip locked
        ) q
    ));
end
$$;
comment on function {schema}.begin_runs is 'Internal: sets runs to RUNNING whose first task was started.';
