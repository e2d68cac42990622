-- Workflows: definition and administration. A workflow is a queue, which holds its runs, and a row in `workflows`.

-- A failed run of a dead letter workflow is passed on to the dead letter workflow of that one: a cycle would never end.
-- Concurrent changes are serialized by a table lock.
create or replace function {schema}.refuse_dead_letter_cycle(workflow text, forward_to bigint) returns void
language plpgsql
as $$
declare
    chain text := workflow;
    next  bigint := forward_to;
    name  text;
begin
    lock table {schema}.dead_letter_turn in exclusive mode;
    while next is not null loop
        select w.dead_letter_workflow_id, q.name into next, name
        from {schema}.workflows w join {schema}.queues q on q.queue_id = w.workflow_id
        where w.workflow_id = next;
        chain := chain || ' -> ' || name;
        if name = workflow then
            raise exception '{text:dead_letter_cycle}', workflow, chain using errcode = 'PW003';
        end if;
    end loop;
end
$$;
comment on function {schema}.refuse_dead_letter_cycle is
    'Internal: raises if a dead letter workflow would lead back to the workflow.';

-- Changes only the given options. A run_timeout_ms of 0 and an empty dead_letter_workflow remove the setting.
drop function if exists {schema}.create_workflow(  -- it has a new parameter
    text, integer, bigint, bigint, bigint, bigint, integer, text, text);
create or replace function {schema}.create_workflow(
    workflow             text,
    max_attempts         integer default null,
    backoff_base_ms      bigint default null,
    backoff_cap_ms       bigint default null,
    lease_ms             bigint default null,
    run_timeout_ms       bigint default null,
    max_strikes          integer default null,
    dead_letter_workflow text default null,
    audit                text default null,
    publish              text default null
) returns void
language plpgsql
as $$
declare
    now_at     timestamptz := {schema}.clock();
    forward_to bigint;
    id         bigint;
begin
    if workflow is null or workflow !~ '^[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$'
       or length(workflow) > {rule:max_name_bytes} then
        raise exception '{text:name}', 'workflow', workflow, {rule:max_name_bytes}
            using errcode = 'PW003';
    end if;
    if dead_letter_workflow = workflow then
        raise exception '{text:workflow_forwards_to_itself}', workflow
            using errcode = 'PW003';
    end if;
    perform {schema}.check_range('max_attempts', max_attempts, 1, {rule:max_attempts});
    perform {schema}.check_range('backoff_base_ms', backoff_base_ms, 0, {schema}.longest_ms());
    perform {schema}.check_range('backoff_cap_ms', backoff_cap_ms, 0, {schema}.longest_ms());
    perform {schema}.check_range('lease_ms', lease_ms, 1, {schema}.longest_ms());
    perform {schema}.check_range('run_timeout_ms', run_timeout_ms, 0, {schema}.longest_ms());
    perform {schema}.check_range('max_strikes', max_strikes, 1, {rule:max_strikes});
    perform {schema}.check_word('audit', audit, array['off', 'exceptions', 'all']);
    perform {schema}.check_word('publish', publish, array['off', 'alerts', 'ends']);
    if dead_letter_workflow <> '' then
        loop
            forward_to := ({schema}.workflow_ids(array[dead_letter_workflow]))[1];
            -- The row lock prevents a concurrent deletion.
            perform from {schema}.workflows w where w.workflow_id = forward_to for key share;
            exit when found;
        end loop;
        perform {schema}.refuse_dead_letter_cycle(workflow, forward_to);
    end if;
    loop
        -- Completed runs leave no archived message, and the worker decides how often a run is attempted.
        insert into {schema}.queues as q (name, keep_archive, lease_ms, max_strikes, max_attempts, created_at)
        values (workflow, false, create_workflow.lease_ms,
                coalesce(create_workflow.max_strikes, {rule:default_queue_strikes}), 0, now_at)
        on conflict (name) do nothing
        returning q.queue_id into id;
        if id is not null then
            insert into {schema}.workflows
                (workflow_id, max_attempts, backoff_base_ms, backoff_cap_ms, run_timeout_ms,
                 dead_letter_workflow_id, audit, publish, created_at)
            values (
                id, coalesce(create_workflow.max_attempts, {rule:default_run_attempts}),
                coalesce(create_workflow.backoff_base_ms, {rule:default_backoff_base_ms}),
                coalesce(create_workflow.backoff_cap_ms, {rule:default_backoff_cap_ms}), nullif(create_workflow.run_timeout_ms, 0),
                forward_to, coalesce(create_workflow.audit, 'exceptions'),
                coalesce(create_workflow.publish, 'off'), now_at
            );
            return;
        end if;

        update {schema}.workflows w
        set max_attempts = coalesce(create_workflow.max_attempts, w.max_attempts),
            backoff_base_ms = coalesce(create_workflow.backoff_base_ms, w.backoff_base_ms),
            backoff_cap_ms = coalesce(create_workflow.backoff_cap_ms, w.backoff_cap_ms),
            run_timeout_ms = case when create_workflow.run_timeout_ms is null then w.run_timeout_ms
                                  else nullif(create_workflow.run_timeout_ms, 0) end,
            dead_letter_workflow_id = case when dead_letter_workflow is null then w.dead_letter_workflow_id
                                           else forward_to end,
            audit = coalesce(create_workflow.audit, w.audit),
            publish = coalesce(create_workflow.publish, w.publish)
        from {schema}.queues q
        where q.name = workflow and w.workflow_id = q.queue_id
          and (not w.is_flow
               -- Options that flows and other workflows have in common.
               or num_nonnulls(create_workflow.dead_letter_workflow, create_workflow.audit,
                               create_workflow.publish) > 0
                  and num_nulls(create_workflow.max_attempts, create_workflow.backoff_base_ms,
                                create_workflow.backoff_cap_ms, create_workflow.lease_ms,
                                create_workflow.run_timeout_ms, create_workflow.max_strikes) = 6)
        returning w.workflow_id into id;
        -- Otherwise the workflow was deleted while we waited for its lock, so the name is free.
        exit when id is not null or exists (select from {schema}.queues q where q.name = workflow);
    end loop;
    if id is null then
        if exists (select from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
                   where q.name = workflow) then
            raise exception '{text:workflow_is_flow}', workflow using errcode = 'PW003';
        end if;
        raise exception '{text:not_a_workflow}', workflow using errcode = 'PW003';
    end if;
    update {schema}.queues q
    set lease_ms = coalesce(create_workflow.lease_ms, q.lease_ms),
        max_strikes = coalesce(create_workflow.max_strikes, q.max_strikes)
    where q.queue_id = id and (create_workflow.lease_ms is not null or create_workflow.max_strikes is not null);
end
$$;
comment on function {schema}.create_workflow is
    'Creates a workflow and its queue, or changes the given options of an existing workflow.';

create or replace function {schema}.workflow_ids(workflows text[]) returns bigint[]
language plpgsql stable
as $$
declare
    ids     bigint[];
    unknown text;
begin
    select array_agg(f.workflow_id order by n.place),
           (array_agg(coalesce(n.name, '') order by n.place) filter (where f.workflow_id is null))[1]
    into ids, unknown
    from unnest(workflows) with ordinality as n (name, place)
    left join lateral (
        select w.workflow_id from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
        where q.name = n.name
    ) f on true;
    if unknown is not null then
        raise exception '{text:workflow_missing}', unknown, unknown
            using errcode = 'PW007';
    end if;
    return ids;
end
$$;
comment on function {schema}.workflow_ids is
    'The ids of workflows, in the given order, for claim_runs. Raises if one does not exist.';

create or replace function {schema}.delete_workflow(workflow text) returns void
language plpgsql
as $$
declare
    id    bigint := ({schema}.workflow_ids(array[workflow]))[1];
    live  bigint;
    ended bigint[];
begin
    -- The workflow is locked before its queue: triggers of a dead letter workflow lock in that order.
    perform from {schema}.workflows w where w.workflow_id = id for update;
    perform {schema}.lock_queue(id);
    select count(*) into live from {schema}.runs r where {schema}.run_group(r) in (0, 1) and r.workflow_id = id;
    if live > 0 then
        raise exception '{text:workflow_has_runs}', workflow, live
            using errcode = 'PW008';
    end if;
    ended := array(
        select r.run_id from {schema}.runs r where {schema}.run_group(r) in (2, 3, 4) and r.workflow_id = id
    );
    delete from {schema}.tasks t where t.run_id = any(ended);
    delete from {schema}.calls c where c.run_id = any(ended) or c.caller_run_id = any(ended);
    delete from {schema}.flow_deps d where d.workflow_id = id;
    delete from {schema}.flow_steps f where f.workflow_id = id;
    delete from {schema}.steps s where s.run_id = any(ended);
    delete from {schema}.run_tags t where t.run_id = any(ended);
    delete from {schema}.signals s where s.run_id = any(ended);
    delete from {schema}.events e where e.run_id = any(ended);
    delete from {schema}.awaited_runs a where a.run_id = any(ended);
    delete from {schema}.runs r where r.run_id = any(ended);
    delete from {schema}.messages m where m.queue_id = id;
    delete from {schema}.archive a where a.queue_id = id;
    delete from {schema}.workflows w where w.workflow_id = id;
    delete from {schema}.queues q where q.queue_id = id;
end
$$;
comment on function {schema}.delete_workflow is
    'Deletes a workflow with its queue and its finished runs. Refused while it has live runs.';

-- Drops the function only if its columns have changed: dropping fails if an object of a user depends on it.
do $$
begin
    if exists (select from pg_proc p where p.oid = to_regprocedure('{schema}.list_workflows(text)')
               and 'publish' <> all(p.proargnames)) then
        drop function {schema}.list_workflows(text);
    end if;
end
$$;
create or replace function {schema}.list_workflows(only_workflow text default null) returns table (
    workflow_id bigint, workflow text, paused boolean, max_attempts integer, backoff_base_ms bigint,
    backoff_cap_ms bigint, lease_ms bigint, run_timeout_ms bigint, max_strikes integer,
    dead_letter_workflow text, audit text, created_at timestamptz, is_flow boolean, task_timeout_ms bigint,
    publish text
)
language sql stable
as $$
    select w.workflow_id, q.name, q.paused, w.max_attempts, w.backoff_base_ms, w.backoff_cap_ms,
           q.lease_ms, w.run_timeout_ms, q.max_strikes, d.name, w.audit, w.created_at, w.is_flow,
           w.task_timeout_ms, w.publish
    from {schema}.workflows w
    join {schema}.queues q on q.queue_id = w.workflow_id
    left join {schema}.queues d on d.queue_id = w.dead_letter_workflow_id
    where only_workflow is null or q.name = only_workflow
    order by q.name
$$;
comment on function {schema}.list_workflows is 'Lists workflows with their settings, by name.';

-- Durations are those of successful runs, from the first start to the end. Of the runs that ended within the window the
-- newest are read, up to count_limit successes and count_limit failures. If a set is cut off, runs before its oldest
-- one are ignored in both sets, so that the counts stay comparable: counted_ms is the part of the window that they
-- cover.
create or replace function {schema}.workflow_stats(
    workflow text, window_ms bigint default {rule:default_metrics_window_ms}, count_limit integer default {rule:count_limit}
) returns table (
    succeeded bigint, failed bigint, cancelled bigint, average_ms bigint, p50_ms bigint, p95_ms bigint,
    p99_ms bigint, queue_depth bigint, in_flight bigint, waiting bigint, oldest_waiting_ms bigint,
    counted_ms bigint, at_least text[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at  timestamptz := {schema}.clock();
    from_at timestamptz;
    id      bigint := ({schema}.workflow_ids(array[workflow_stats.workflow]))[1];
    cut_at  timestamptz;
    live    record;
begin
    perform {schema}.check_range('window_ms', window_ms, 0, {schema}.longest_ms());
    perform {schema}.check_range('count_limit', workflow_stats.count_limit, 0, 2147483647);
    workflow_stats.count_limit := coalesce(workflow_stats.count_limit, 2147483647);
    from_at := now_at - {schema}.ms(window_ms);
    -- The first run of each set that does not count.
    select max(c.at) into cut_at
    from (
        (select s.completed_at as at from {schema}.runs s
         where s.workflow_id = id and s.completed_at > from_at and s.completed_at <= now_at
           and s.completed_at is not null and s.error is null
         order by s.completed_at desc, s.run_id desc offset workflow_stats.count_limit limit 1)
        union all
        (select f.completed_at from {schema}.runs f
         where f.workflow_id = id and f.completed_at > from_at and f.completed_at <= now_at
           and f.completed_at is not null and f.error is not null
         order by f.completed_at desc, f.run_id desc offset workflow_stats.count_limit limit 1)
    ) c;
    live := {schema}.count_messages(id, now_at, workflow_stats.count_limit, 0);
    return query
    select e.succeeded, e.failed, e.cancelled, e.average_ms::bigint, e.parts[1]::bigint,
           e.parts[2]::bigint, e.parts[3]::bigint, live.ready, live.leased, live.waiting, live.oldest_ready_ms,
           coalesce((extract(epoch from now_at - cut_at) * 1000)::bigint, window_ms),
           case when cut_at is null then '{}' else '{succeeded,failed,cancelled}' end::text[]
               || array(select case l when 'ready' then 'queue_depth' when 'leased' then 'in_flight' else l end
                        from unnest(live.at_least) l where l in ('ready', 'leased', 'waiting'))
    from (
        select count(*) filter (where r.status = 'SUCCESS') as succeeded,
               count(*) filter (where r.status = 'ERROR') as failed,
               count(*) filter (where r.status = 'CANCELLED') as cancelled,
               avg(d.ms) filter (where r.status = 'SUCCESS') as average_ms,
               percentile_cont(array[0.5, 0.95, 0.99]) within group (order by d.ms)
                   filter (where r.status = 'SUCCESS') as parts
        from (  -- each through a separate index
            select s.status, s.started_at, s.completed_at from {schema}.runs s
            where s.workflow_id = id and s.completed_at > coalesce(cut_at, from_at)
              and s.completed_at <= now_at and s.completed_at is not null and s.error is null
            union all
            select f.status, f.started_at, f.completed_at from {schema}.runs f
            where f.workflow_id = id and f.completed_at > coalesce(cut_at, from_at)
              and f.completed_at <= now_at and f.completed_at is not null and f.error is not null
        ) r
        cross join lateral (
            select extract(epoch from r.completed_at - r.started_at)::double precision * 1000 as ms
        ) d
    ) e;
end
$$;
comment on function {schema}.workflow_stats is
    'Ends and durations of a workflow''s runs within the window, and the counts of its queue. Reads a bounded number of rows.';

create or replace function {schema}.workflow_metrics(workflow text, window_ms bigint default {rule:default_metrics_window_ms})
returns table (
    succeeded bigint, failed bigint, cancelled bigint, average_ms bigint, p50_ms bigint, p95_ms bigint,
    p99_ms bigint, queue_depth bigint, in_flight bigint, waiting bigint, oldest_waiting_ms bigint
)
language sql
as $$
    select s.succeeded, s.failed, s.cancelled, s.average_ms, s.p50_ms, s.p95_ms, s.p99_ms, s.queue_depth,
           s.in_flight, s.waiting, s.oldest_waiting_ms
    from {schema}.workflow_stats(workflow, window_ms, 2147483647) s
$$;
comment on function {schema}.workflow_metrics is
    'Like workflow_stats(), but with exact counts. Reads all matching runs, so it can be slow.';

-- A live worker has not stopped, and its last heartbeat is within its lease. The index workers_live excludes stopped
-- workers.
create or replace function {schema}.has_live_handler(workflow text, at timestamptz default null)
returns boolean
language sql
as $$
    select exists (
        select from {schema}.workers w
        where w.status <> 'STOPPED'
          and w.heartbeat_at + {schema}.ms(w.lease_ms) >= coalesce(at, (select {schema}.clock()))
          and workflow = any(w.handlers)
    )
$$;
comment on function {schema}.has_live_handler is 'Whether a live worker has a handler for the workflow.';

create or replace function {schema}.live_handlers(at timestamptz) returns text[]
language sql stable
as $$
    select array(
        select distinct h.name from {schema}.workers w cross join lateral unnest(w.handlers) as h (name)
        where w.status <> 'STOPPED' and w.heartbeat_at + {schema}.ms(w.lease_ms) >= live_handlers.at
    )
$$;
comment on function {schema}.live_handlers is 'Internal: the workflows for which live workers have handlers.';
