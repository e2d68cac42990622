-- Lost work: a live run of a workflow, or an open task of a flow, that has no message, so no worker can claim it. No
-- function of this schema causes that; manual changes of the tables can, and earlier versions allowed users to settle
-- the messages of runs.
--
-- The search reads live runs page by page through the index runs_group, never the history.

-- One page: up to max_rows live runs after (after_workflow, after_run), with the open tasks of flows. The arrays are
-- aligned and name the lost runs and tasks; a null step means the run's own message. If `looked` equals max_rows, call
-- it again with last_workflow, last_run.
create or replace function {schema}.find_lost_runs(
    after_workflow bigint default 0, after_run bigint default null, max_rows integer default {rule:repair_page_rows},
    out looked integer, out last_workflow bigint, out last_run bigint,
    out run_ids bigint[], out workflows text[], out step_slugs text[], out task_indexes integer[]
)
language plpgsql stable
as $$
declare
    after_at timestamptz := coalesce(
        (select r.created_at from {schema}.runs r where r.run_id = find_lost_runs.after_run), '-infinity');
begin
    perform {schema}.check_range('after_workflow', after_workflow, 0, 9223372036854775807);
    perform {schema}.check_range('after_run', after_run, 0, 9223372036854775807);
    perform {schema}.check_range('max_rows', coalesce(max_rows, 0), 1, {rule:max_page_rows});
    with live as materialized (
        select r.run_id, r.workflow_id, r.created_at, r.remaining_steps is not null as is_flow
        from (values (0), (1)) as g (run_group)
        cross join lateral (
            select r.* from {schema}.runs r
            where {schema}.run_group(r) = g.run_group
              and (r.workflow_id, r.created_at, r.run_id + 0)
                  > (coalesce(after_workflow, 0), after_at, coalesce(find_lost_runs.after_run, 0))
            order by r.workflow_id, r.created_at, r.run_id + 0
            limit max_rows
        ) r
        order by r.workflow_id, r.created_at, r.run_id
        limit max_rows
    ),
    lost as (
        select l.run_id, l.workflow_id, null::integer as step_index, null::integer as task_index
        from live l
        where not l.is_flow and not exists (
            select from {schema}.messages m where m.message_id = l.run_id offset 0
        )
        union all
        select l.run_id, l.workflow_id, t.step_index, t.task_index
        from live l
        cross join lateral (
            select t.step_index, t.task_index from {schema}.tasks t
            where t.run_id = l.run_id and t.status in ('QUEUED', 'RUNNING') and l.is_flow
              and not exists (select from {schema}.messages m where m.message_id = t.message_id offset 0)
            offset 0
        ) t
    )
    select p.looked, p.last[1], p.last[2], coalesce(f.runs, '{}'), coalesce(f.names, '{}'), coalesce(f.slugs, '{}'),
           coalesce(f.tasks, '{}')
    into looked, last_workflow, last_run, run_ids, workflows, step_slugs, task_indexes
    from (
        select count(*)::integer as looked,
               (select array[l.workflow_id, l.run_id] from live l
                order by l.workflow_id desc, l.created_at desc, l.run_id desc limit 1) as last
        from live
    ) p
    cross join (
        select array_agg(o.run_id order by o.run_id, o.step_index, o.task_index) as runs,
               array_agg(q.name order by o.run_id, o.step_index, o.task_index) as names,
               array_agg(s.step_slug::text order by o.run_id, o.step_index, o.task_index) as slugs,
               array_agg(o.task_index order by o.run_id, o.step_index, o.task_index) as tasks
        from lost o
        join {schema}.queues q on q.queue_id = o.workflow_id
        left join {schema}.flow_steps s on s.workflow_id = o.workflow_id and s.step_index = o.step_index
    ) f;
end
$$;
comment on function {schema}.find_lost_runs is
    'Finds live runs, and open tasks of flows, that have no message, page by page. repair_runs() restores them.';

create or replace function {schema}.is_lost(run_id bigint) returns boolean
language sql stable
as $$
    select case when r.remaining_steps is null
                then not exists (select from {schema}.messages m where m.message_id = r.run_id)
                else exists (
                    select from {schema}.tasks t
                    where t.run_id = r.run_id and t.status in ('QUEUED', 'RUNNING')
                      and not exists (select from {schema}.messages m where m.message_id = t.message_id)
                ) end
    from {schema}.runs r where r.run_id = is_lost.run_id and r.completed_at is null
$$;
comment on function {schema}.is_lost is 'Internal: whether a live run, or one of its open tasks, has no message.';

-- Restores the messages of these runs and tasks, ready immediately. Recorded steps stay: the run is replayed and waits
-- again where it waited before. The last delivery number is lost with the message, so deliveries continue far above any
-- number that it can have reached: earlier holders stay fenced. The run's row is locked first, and cancel deletes the
-- message after it has updated that row: so a run that has ended gets no message. Locked runs are skipped.
create or replace function {schema}.restore_lost(run_ids bigint[], at timestamptz) returns table (
    run_id bigint, workflow text, step_slug text, task_index integer
)
language plpgsql
as $$
#variable_conflict use_column
declare
    run    record;
    raised constant integer := {rule:raised_deliveries};
begin
    for run in
        select r.run_id, r.workflow_id, r.priority, r.status, r.delivery, r.created_at,
               r.remaining_steps is not null as is_flow, q.name, w.audit <> 'off' as audited, w.task_timeout_ms,
               -- see flow/lanes.sql
               w.lanes <> 'off' or current_setting('transaction_isolation') <> 'read committed' as in_lane
        from {schema}.runs r
        join {schema}.workflows w on w.workflow_id = r.workflow_id
        join {schema}.queues q on q.queue_id = r.workflow_id
        where r.run_id = any(restore_lost.run_ids) and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
        order by r.run_id
        for update of r skip locked
    loop
        if not run.is_flow then
            return query
            insert into {schema}.messages as n
                (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
            values (run.run_id, run.workflow_id, run.priority,
                    greatest(run.delivery,
                             (select max(s.delivery) from {schema}.steps s where s.run_id = run.run_id),
                             (select max(e.delivery) from {schema}.events e where e.run_id = run.run_id)) + raised,
                    'ready', restore_lost.at, run.created_at, 'null')
            on conflict do nothing
            returning n.message_id, run.name, null::text, null::integer;
        else
            return query
            with made as (
                insert into {schema}.messages as n
                    (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload, run_id,
                     step_index, task_index, lease_ms, lane)
                select t.message_id, run.workflow_id, run.priority, t.delivery + raised, 'ready', restore_lost.at,
                       t.queued_at, 'null', t.run_id, t.step_index, t.task_index,
                       {schema}.task_lease_ms(f.timeout_ms, run.task_timeout_ms),
                       case when run.in_lane then t.step_index end
                from {schema}.tasks t
                join {schema}.flow_steps f on f.workflow_id = run.workflow_id and f.step_index = t.step_index
                where t.run_id = run.run_id and t.status in ('QUEUED', 'RUNNING')
                  and not exists (select from {schema}.messages m where m.message_id = t.message_id)
                on conflict do nothing
                returning n.run_id, n.step_index, n.task_index
            ),
            queued as (
                update {schema}.tasks t set status = 'QUEUED'
                from made where t.run_id = made.run_id and t.step_index = made.step_index
                  and t.task_index = made.task_index and t.status = 'RUNNING'
            )
            select made.run_id, run.name, f.step_slug::text, made.task_index
            from made
            join {schema}.flow_steps f on f.workflow_id = run.workflow_id and f.step_index = made.step_index
            order by made.step_index, made.task_index;
        end if;
        if found then
            perform {schema}.add_event(
                run.run_id, run.audited, '{event:repaired}', {schema}.with_actor('{}'), run.delivery, restore_lost.at);
            perform pg_notify('pawl_{schema_name}', run.workflow_id::text);
        end if;
    end loop;
end
$$;
comment on function {schema}.restore_lost is 'Internal: restores the messages of lost runs and tasks.';

create or replace function {schema}.repair_runs() returns table (
    run_id bigint, workflow text, step_slug text, task_index integer
)
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    page     record;
    size     constant integer := {rule:repair_page_rows};
    workflow_before bigint := 0;
    run_before      bigint;
begin
    loop
        select * into page from {schema}.find_lost_runs(workflow_before, run_before, size);
        return query select * from {schema}.restore_lost(page.run_ids, now_at);
        exit when page.looked < size;
        workflow_before := page.last_workflow;
        run_before := page.last_run;
    end loop;
end
$$;
comment on function {schema}.repair_runs is
    'Restores the messages of live runs and open tasks that have none, ready immediately; returns these.';
