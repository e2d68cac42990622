-- Locks, outcomes and wake-ups shared by all reports about tasks.
--
-- The lock order is in functions/README.md. Two reports about one run are serialized; reports about different runs
-- do not block each other.

-- Returns the live runs that could be locked without waiting; `complete` if these are all.
create or replace function {schema}.lock_flow_runs(run_ids bigint[], out locked bigint[], out complete boolean)
language plpgsql
as $$
begin
    select array_agg(u.run_id) filter (where r.held), bool_and(r.held is true)
    into locked, complete
    from (select distinct u as run_id from unnest(run_ids) u order by u) u
    left join lateral (
        select true as held from {schema}.runs r
        where r.run_id = u.run_id and r.remaining_steps is not null
          and r.status in ('QUEUED', 'RUNNING')
        for update skip locked
    ) r on true;
    -- Ending a run that another run waits for also writes the waiting run.
    if exists (select from {schema}.calls) then
        locked := {schema}.lock_callers(locked);
        complete := complete and cardinality(locked) = (select count(distinct u) from unnest(run_ids) u);
    end if;
end
$$;
comment on function {schema}.lock_flow_runs is 'Internal: locks the rows of live runs of flows, without waiting.';

-- Locks the runs and the messages of these leases. tids, workflows, priorities and step_indexes are aligned with the
-- leases. A null tid means that the lease does not hold, or that another session has locked a row. Messages in
-- ascending order without duplicates are cheapest.
create or replace function {schema}.lock_task_leases(
    message_ids bigint[], deliveries integer[], run_ids bigint[],
    out tids tid[], out workflows bigint[], out priorities integer[], out step_indexes integer[],
    out task_indexes integer[], out complete boolean
)
language plpgsql
as $$
declare
    runs            record;
    held_ids        bigint[];
    held_deliveries integer[];
    held_runs       bigint[];
begin
    select * into runs from {schema}.lock_flow_runs(run_ids);
    if runs.complete then
        -- With a plain condition on the state, the planner might choose the index messages_due.
        select array_agg(m.tid), array_agg(m.queue_id), array_agg(m.priority), array_agg(m.step_index),
               array_agg(m.task_index), array_agg(m.message_id), array_agg(m.delivery), array_agg(m.run_id)
        into tids, workflows, priorities, step_indexes, task_indexes, held_ids, held_deliveries, held_runs
        from (
            select m.ctid as tid, m.queue_id, m.priority, m.step_index, m.task_index, m.message_id,
                   m.delivery, m.run_id
            from {schema}.messages m
            where m.message_id = any(message_ids) and m.state || '' = 'leased'
            order by m.message_id for update skip locked
        ) m;
        complete := held_ids = message_ids and held_deliveries = deliveries and held_runs = run_ids;
        if complete then
            return;
        end if;
    end if;
    complete := false;
    select array_agg(m.tid), array_agg(m.queue_id), array_agg(m.priority), array_agg(m.step_index),
           array_agg(m.task_index)
    into tids, workflows, priorities, step_indexes, task_indexes
    from (
        -- Of two reports for one lease the first one counts.
        select m.tid, m.queue_id, m.priority, m.step_index, m.task_index
        from (
            select l.*, row_number() over (partition by l.message_id, l.delivery order by l.place) as turn
            from unnest(message_ids, deliveries, run_ids) with ordinality
                as l (message_id, delivery, run_id, place)
        ) l
        left join lateral (
            select m.ctid as tid, m.queue_id, m.priority, m.step_index, m.task_index
            from {schema}.messages m
            where m.message_id = l.message_id and m.delivery = l.delivery and m.run_id = l.run_id
              and m.state || '' = 'leased' and l.turn = 1 and l.run_id = any(runs.locked)
            for update skip locked
        ) m on true
        order by l.place
    ) m;
end
$$;
comment on function {schema}.lock_task_leases is 'Internal: locks the runs and the messages of leased tasks.';

-- For items that were not recorded: the reason. `written` has the statuses of a task after a report of this delivery
-- was recorded, for a caller that repeats a commit whose answer was lost.
create or replace function {schema}.task_outcomes(
    outcomes text[], message_ids bigint[], deliveries integer[], run_ids bigint[], step_slugs text[],
    task_indexes integer[], written text[], repeated boolean
) returns text[]
language sql
as $$
    select array_agg(
        case
            when l.outcome is not null then l.outcome
            when m.delivery = l.delivery and m.state = 'leased' then 'busy'
            when repeated and t.delivery = l.delivery and t.status = any(written) then 'done'
            when t.status is null then 'cancelled'  -- deleted with its flow
            when t.status = 'CANCELLED' or t.run_status in ('ERROR', 'CANCELLED') then 'cancelled'
            else 'lease_lost'
        end order by l.place
    )
    from unnest(outcomes, message_ids, deliveries, run_ids, step_slugs, task_indexes) with ordinality
        as l (outcome, message_id, delivery, run_id, step_slug, task_index, place)
    left join lateral (
        select m.delivery, m.state from {schema}.messages m where m.message_id = l.message_id offset 0
    ) m on l.outcome is null
    left join lateral (
        select t.delivery, t.status, r.status as run_status
        from {schema}.steps s
        join {schema}.runs r on r.run_id = s.run_id
        join {schema}.tasks t on t.run_id = s.run_id and t.step_index = s.position
        where s.run_id = l.run_id and s.step_id = l.step_slug and t.task_index = l.task_index
        offset 0
    ) t on l.outcome is null
$$;
comment on function {schema}.task_outcomes is 'Internal: the outcomes of reports about tasks that were not recorded.';

-- Refines the outcomes of extend(), release() and hand_back() for tasks: a lease may be lost because the run was
-- cancelled or has failed.
create or replace function {schema}.explain_tasks(
    outcomes text[], message_ids bigint[], deliveries integer[], run_ids bigint[], step_slugs text[],
    task_indexes integer[]
) returns text[]
language plpgsql
as $$
begin
    if array_position(outcomes, 'lease_lost') is null then
        return outcomes;
    end if;
    return {schema}.task_outcomes(
        array_replace(outcomes, 'lease_lost', null), message_ids, deliveries, run_ids, step_slugs, task_indexes,
        null, false);
end
$$;
comment on function {schema}.explain_tasks is
    'Replaces the outcome lease_lost by cancelled for tasks whose runs have ended.';

-- Locks a task's run and message, waiting for the locks. `outcome` is null if the task is running, otherwise the reason
-- why no report about it is possible.
create or replace function {schema}.lock_task(
    run_id bigint, step_slug text, task_index integer, delivery integer,
    out outcome text, out workflow_id bigint, out priority integer, out step_index integer,
    out message_id bigint
)
language plpgsql
as $$
#variable_conflict use_column
declare
    task record;
begin
    perform {schema}.wait_for_callers(lock_task.run_id);
    select r.workflow_id, r.priority into lock_task.workflow_id, lock_task.priority
    from {schema}.runs r where r.run_id = lock_task.run_id and r.remaining_steps is not null for update;
    select t.message_id, t.step_index into lock_task.message_id, lock_task.step_index
    from {schema}.steps s
    join {schema}.tasks t on t.run_id = s.run_id and t.step_index = s.position
    where s.run_id = lock_task.run_id and s.step_id = lock_task.step_slug
      and t.task_index = lock_task.task_index and lock_task.workflow_id is not null;
    perform from {schema}.messages m where m.message_id = lock_task.message_id for update;
    -- Read again behind the lock: the task may have been delivered again.
    select t.status, t.delivery into task
    from {schema}.tasks t
    where t.run_id = lock_task.run_id and t.step_index = lock_task.step_index
      and t.task_index = lock_task.task_index;
    outcome := case
        when task.status is null then 'unknown_task'
        when task.status = 'QUEUED' then 'not_running'
        when task.status = 'CANCELLED' then 'cancelled'
        when task.status <> 'RUNNING' then 'finished'
        when task.delivery <> lock_task.delivery then 'lease_lost'
    end;
end
$$;
comment on function {schema}.lock_task is 'Internal: locks a task for a report, or returns why no report is possible.';

-- Notifies the waiters of ended runs (or returns the runs), and wakes the workers of the queues.
create or replace function {schema}.notify_flows(ended bigint[], queues bigint[], wake boolean) returns bigint[]
language plpgsql
as $$
begin
    if wake then
        perform pg_notify('pawl_{schema_name}', u::text) from unnest(queues) u;
    end if;
    if cardinality(ended) > 0 then
        return {schema}.take_waiters(ended, wake);
    end if;
    return null;
end
$$;
comment on function {schema}.notify_flows is 'Internal: notifies waiters of ended runs and wakes workers of queues.';

-- For tasks that were delivered again because their worker's lease ended: a crash of a worker uses no attempt.
create or replace function {schema}.give_attempts_back(message_ids bigint[], deliveries integer[], workers bigint[])
returns void
language sql
as $$
    update {schema}.tasks t set status = 'QUEUED', attempts = t.attempts - 1
    from (
        select m.run_id, m.step_index, m.task_index, u.delivery
        from unnest(message_ids, deliveries, workers) as u (id, delivery, worker_id)
        cross join lateral (
            select m.run_id, m.step_index, m.task_index from {schema}.messages m
            where m.message_id = u.id and m.run_id is not null and m.delivery = u.delivery + 1
            offset 0
        ) m
        where u.worker_id is not null
    ) n
    where t.run_id = any(array[n.run_id]) and t.step_index = n.step_index and t.task_index = n.task_index
      and t.status = 'RUNNING' and t.delivery = n.delivery
$$;
comment on function {schema}.give_attempts_back is
    'Internal: restores the attempt of tasks whose worker''s lease has ended.';

-- Undoes the start of tasks whose delivery is taken back.
create or replace function {schema}.unstart_tasks(message_ids bigint[]) returns void
language plpgsql
as $$
begin
    update {schema}.tasks t set status = 'QUEUED', attempts = t.attempts - 1
    from (
        select m.run_id, m.step_index, m.task_index
        from unnest(message_ids) as u (id)
        cross join lateral (
            select m.run_id, m.step_index, m.task_index from {schema}.messages m
            where m.message_id = u.id and m.run_id is not null
            offset 0
        ) m
    ) n
    where t.run_id = any(array[n.run_id]) and t.step_index = n.step_index and t.task_index = n.task_index
      and t.status = 'RUNNING';
end
$$;
comment on function {schema}.unstart_tasks is 'Internal: sets released tasks back to QUEUED without using an attempt.';
