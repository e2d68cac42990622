-- The names of pgflow over the functions of this schema, for definitions and workers that were written for pgflow 0.14.
-- It contains no engine: each function calls one of {schema}, and each view reads its tables. Run ids are uuids, which
-- pgflow.run_ids maps to runs: a run that is started here gets one immediately, any other run when one of its tasks is
-- read here. See docs/pgflow.md.

create schema if not exists pgflow;

do $$
begin
    if to_regclass('pgflow.installed') is null
       and exists (select from pg_class c where c.relnamespace = 'pgflow'::regnamespace) then
        raise exception 'schema ''pgflow'' exists and was not created by pawl; drop it first, or use another database'
            using errcode = 'PW003';
    end if;
end
$$;

-- One row: the store of this schema, and the checksums that verify() compares.
create table if not exists pgflow.installed (
    only_row    boolean primary key default true check (only_row),
    pawl_schema text not null,
    script      text not null,
    catalogue   text not null
);

do $$
declare
    other text := (select i.pawl_schema from pgflow.installed i where i.pawl_schema <> '{schema_name}');
begin
    if other is not null then
        raise exception 'schema ''pgflow'' belongs to the store in schema ''%''; a database can have only one', other
            using errcode = 'PW003';
    end if;
end
$$;

create table if not exists pgflow.run_ids (
    uuid   uuid primary key default gen_random_uuid(),
    run_id bigint not null unique references {schema}.runs on delete cascade
);

-- Each install creates everything except the tables again.
do $$
declare
    f record;
begin
    for f in select p.oid::regprocedure as name from pg_proc p where p.pronamespace = 'pgflow'::regnamespace loop
        execute format('drop function if exists %s cascade', f.name);
    end loop;
    drop view if exists pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks cascade;
    drop type if exists pgflow.step_task_record, pgflow.message_record cascade;
end
$$;

create type pgflow.step_task_record as (
    flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb
);
create type pgflow.message_record as (
    msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, message jsonb
);

create function pgflow.uuid_of(run_id bigint) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    found_uuid uuid;
begin
    loop
        select r.uuid into found_uuid from pgflow.run_ids r where r.run_id = uuid_of.run_id;
        exit when found_uuid is not null;
        insert into pgflow.run_ids (run_id) values (uuid_of.run_id) on conflict do nothing;
    end loop;
    return found_uuid;
end
$$;

create function pgflow.run_of(uuid uuid) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select r.run_id from pgflow.run_ids r where r.uuid = run_of.uuid $$;

create view pgflow.flows as
select q.name as flow_slug, w.max_attempts as opt_max_attempts,
       (w.backoff_base_ms / 1000)::integer as opt_base_delay,
       coalesce(w.task_timeout_ms / 1000, 0)::integer as opt_timeout, w.created_at
from {schema}.workflows w join {schema}.queues q on q.queue_id = w.workflow_id
where w.is_flow;

create view pgflow.steps as
select q.name as flow_slug, f.step_slug::text as step_slug, f.step_type, f.step_index, f.deps_count,
       f.max_attempts as opt_max_attempts, (f.base_delay_ms / 1000)::integer as opt_base_delay,
       (f.timeout_ms / 1000)::integer as opt_timeout, (f.start_delay_ms / 1000)::integer as opt_start_delay,
       f.required_input_pattern::jsonb as required_input_pattern,
       f.forbidden_input_pattern::jsonb as forbidden_input_pattern, f.when_unmet, f.when_exhausted, f.created_at
from {schema}.flow_steps f join {schema}.queues q on q.queue_id = f.workflow_id;

create view pgflow.deps as
select q.name as flow_slug, o.step_slug::text as dep_slug, f.step_slug::text as step_slug, f.created_at
from {schema}.flow_deps d
join {schema}.flow_steps f on f.workflow_id = d.workflow_id and f.step_index = d.step_index
join {schema}.flow_steps o on o.workflow_id = d.workflow_id and o.step_index = d.dep_index
join {schema}.queues q on q.queue_id = d.workflow_id;

create view pgflow.runs as
select i.uuid as run_id, q.name as flow_slug,
       case r.status when 'SUCCESS' then 'completed' when 'ERROR' then 'failed' when 'CANCELLED' then 'failed'
                     else 'started' end as status,
       r.input::jsonb as input, r.output::jsonb as output, r.remaining_steps, r.created_at as started_at,
       case when r.status = 'SUCCESS' then r.completed_at end as completed_at,
       case when r.status in ('ERROR', 'CANCELLED') then r.completed_at end as failed_at
from pgflow.run_ids i
join {schema}.runs r on r.run_id = i.run_id
join {schema}.queues q on q.queue_id = r.workflow_id
where r.remaining_steps is not null and r.deleted_at is null;

create view pgflow.step_states as
select q.name as flow_slug, i.uuid as run_id, s.step_id::text as step_slug,
       case s.status when 'PENDING' then 'created' when 'RUNNING' then 'started' when 'SUCCESS' then 'completed'
                     when 'ERROR' then 'failed' when 'SKIPPED' then 'skipped'
                     when 'CANCELLED' then case when s.started_at is null then 'created' else 'started' end
                     end as status,
       s.remaining_tasks, s.initial_tasks, s.remaining_deps, s.output::jsonb as output,
       nullif({schema}.error_message(s.error), '') as error_message, r.created_at, s.started_at,
       case when s.status = 'SUCCESS' then s.completed_at end as completed_at,
       case when s.status = 'ERROR' then s.completed_at end as failed_at, s.skip_reason,
       case when s.status = 'SKIPPED' then s.completed_at end as skipped_at
from pgflow.run_ids i
join {schema}.runs r on r.run_id = i.run_id
join {schema}.steps s on s.run_id = r.run_id
join {schema}.queues q on q.queue_id = r.workflow_id
where r.remaining_steps is not null and r.deleted_at is null;

create view pgflow.step_tasks as
select q.name as flow_slug, i.uuid as run_id, f.step_slug::text as step_slug, t.message_id,
       t.task_index,
       case t.status when 'QUEUED' then 'queued' when 'RUNNING' then 'started' when 'SUCCESS' then 'completed'
                     when 'ERROR' then 'failed' when 'SKIPPED' then 'skipped' else 'cancelled' end as status,
       t.attempts as attempts_count, t.error as error_message, t.output::jsonb as output, t.queued_at, t.started_at,
       case when t.status = 'SUCCESS' then t.completed_at end as completed_at,
       case when t.status = 'ERROR' then t.completed_at end as failed_at,
       case when t.status = 'SKIPPED' then t.completed_at end as skipped_at
from pgflow.run_ids i
join {schema}.runs r on r.run_id = i.run_id
join {schema}.tasks t on t.run_id = r.run_id
join {schema}.queues q on q.queue_id = r.workflow_id
join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = t.step_index
where r.deleted_at is null;

create function pgflow.create_flow(
    flow_slug text, max_attempts integer default null, base_delay integer default null, timeout integer default null
) returns pgflow.flows
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    made pgflow.flows;
begin
    -- As in pgflow, an existing flow keeps its options.
    if not exists (select from pgflow.flows f where f.flow_slug = create_flow.flow_slug) then
        perform {schema}.create_flow(flow_slug, max_attempts, base_delay, timeout);
    end if;
    select * into made from pgflow.flows f where f.flow_slug = create_flow.flow_slug;
    return made;
end
$$;

create function pgflow.add_step(
    flow_slug text, step_slug text, deps_slugs text[] default '{}', max_attempts integer default null,
    base_delay integer default null, timeout integer default null, start_delay integer default null,
    step_type text default 'single', required_input_pattern jsonb default null,
    forbidden_input_pattern jsonb default null, when_unmet text default 'skip', when_exhausted text default 'fail'
) returns pgflow.steps
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    made pgflow.steps;
begin
    begin
        perform {schema}.add_step(
            flow_slug => add_step.flow_slug, step_slug => add_step.step_slug, deps_slugs => add_step.deps_slugs,
            max_attempts => add_step.max_attempts, base_delay => add_step.base_delay, timeout => add_step.timeout,
            start_delay => add_step.start_delay, step_type => add_step.step_type,
            required_input_pattern => add_step.required_input_pattern::json,
            forbidden_input_pattern => add_step.forbidden_input_pattern::json,
            when_unmet => add_step.when_unmet, when_exhausted => add_step.when_exhausted);
    exception when sqlstate 'PW017' then
        null;  -- as in pgflow, an existing step keeps its options
    end;
    select * into made from pgflow.steps s
    where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug;
    return made;
end
$$;

create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null) returns setof pgflow.runs
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    started bigint;
    named   uuid := coalesce(start_flow.run_id, gen_random_uuid());
begin
    select r.run_id into started from {schema}.start_flow(start_flow.flow_slug, start_flow.input::json) r;
    insert into pgflow.run_ids (uuid, run_id) values (named, started);
    return query select * from pgflow.runs r where r.run_id = named;
end
$$;

create function pgflow.get_run_with_states(run_id uuid) returns jsonb
language sql security definer set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object('run', to_jsonb(r), 'steps', coalesce((
        select jsonb_agg(to_jsonb(s)) from pgflow.step_states s where s.run_id = r.run_id
    ), '[]'))
    from pgflow.runs r where r.run_id = get_run_with_states.run_id
$$;

create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null) returns jsonb
language sql security definer set search_path = pg_catalog, pg_temp
as $$
    select pgflow.get_run_with_states(r.run_id)
    from pgflow.start_flow(
        start_flow_with_states.flow_slug, start_flow_with_states.input, start_flow_with_states.run_id) r
$$;

create function pgflow.read_with_poll(
    queue_name text, vt integer, qty integer, max_poll_seconds integer default 5, poll_interval_ms integer default 100,
    conditional jsonb default '{}'
) returns setof pgflow.message_record
language sql security definer set search_path = pg_catalog, pg_temp
as $$
    select m.msg_id, m.read_ct, m.enqueued_at, m.vt,
           m.message::jsonb || jsonb_build_object('run_id', pgflow.uuid_of((m.message ->> 'run_id')::bigint))
    from {schema}.read_with_poll(
        read_with_poll.queue_name, read_with_poll.vt, read_with_poll.qty, read_with_poll.max_poll_seconds,
        read_with_poll.poll_interval_ms) m
$$;

-- The worker's uuid and the queue, which is that of the flow, are accepted for compatibility only.
create function pgflow.start_tasks(
    flow_slug text, msg_ids bigint[], worker_id uuid default null, queue_name text default null
) returns setof pgflow.step_task_record
language sql security definer set search_path = pg_catalog, pg_temp
as $$
    select t.flow_slug, pgflow.uuid_of(t.run_id), t.step_slug,
           case when f.step_type = 'map' then t.input::jsonb else t.input::jsonb - 'run' end, t.msg_id, t.task_index,
           case when f.step_type = 'single' and f.deps_count = 0 then t.input::jsonb -> 'run' end
    from {schema}.start_tasks(start_tasks.flow_slug, start_tasks.msg_ids) t
    join pgflow.steps f on f.flow_slug = t.flow_slug and f.step_slug = t.step_slug
$$;

create function pgflow.complete_task(run_id uuid, step_slug text, task_index integer, output jsonb)
returns setof pgflow.step_tasks
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
    perform {schema}.complete_task(
        pgflow.run_of(complete_task.run_id), complete_task.step_slug, complete_task.task_index,
        coalesce(complete_task.output, 'null')::json);
    return query
    select * from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug
      and t.task_index = complete_task.task_index;
end
$$;

create function pgflow.fail_task(run_id uuid, step_slug text, task_index integer, error_message text)
returns setof pgflow.step_tasks
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
    perform {schema}.fail_task(
        pgflow.run_of(fail_task.run_id), fail_task.step_slug, fail_task.task_index, fail_task.error_message);
    return query
    select * from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug
      and t.task_index = fail_task.task_index;
end
$$;

-- Converts pgflow's shape to the one of {schema}.ensure_flow.
create function pgflow.to_shape(flow_slug text, shape jsonb) returns json
language sql immutable set search_path = pg_catalog, pg_temp
as $$
    select json_strip_nulls(json_build_object(
        'slug', to_shape.flow_slug, 'max_attempts', shape #> '{options,maxAttempts}',
        'base_delay', shape #> '{options,baseDelay}', 'timeout', shape #> '{options,timeout}',
        'steps', coalesce((
            select json_agg(json_build_object(
                'slug', s.step -> 'slug', 'step_type', coalesce(s.step -> 'stepType', '"single"'),
                'deps', coalesce(s.step -> 'dependencies', '[]'),
                'max_attempts', s.step #> '{options,maxAttempts}', 'base_delay', s.step #> '{options,baseDelay}',
                'timeout', s.step #> '{options,timeout}', 'start_delay', s.step #> '{options,startDelay}',
                'required_input_pattern', s.step #> '{requiredInputPattern,value}',
                'forbidden_input_pattern', s.step #> '{forbiddenInputPattern,value}',
                'when_unmet', coalesce(s.step -> 'whenUnmet', '"skip"'),
                'when_exhausted', coalesce(s.step -> 'whenExhausted', '"fail"')) order by s.place)
            from jsonb_array_elements(shape -> 'steps') with ordinality as s (step, place)
        ), '[]')))
$$;

-- A different flow is replaced only if the setting pgflow.is_local is true, because that deletes its runs.
create function pgflow.ensure_flow_compiled(flow_slug text, shape jsonb) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    wanted  json := pgflow.to_shape(flow_slug, shape);
    outcome text;
begin
    outcome := {schema}.ensure_flow(wanted, coalesce(current_setting('pgflow.is_local', true), 'false') = 'true');
    return jsonb_build_object(
        'status', case outcome when 'created' then 'compiled' when 'same' then 'verified' else 'recompiled' end,
        'differences', '[]'::jsonb);
exception when sqlstate 'PW017' then
    return jsonb_build_object(
        'status', 'mismatch', 'differences', to_jsonb(string_to_array({schema}.flow_difference(wanted), '; ')));
end
$$;

create function pgflow.delete_flow_and_data(flow_slug text) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$ select {schema}.delete_flow_and_data(delete_flow_and_data.flow_slug, true) $$;

-- Runs of flows that ended at least that long ago. Unlike in pgflow, live runs stay.
create function pgflow.prune_data_older_than(retention_interval interval) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    bound timestamptz := {schema}.clock() - retention_interval;
    after bigint := 0;
    old   bigint[];
begin
    loop
        old := array(
            select r.run_id from {schema}.runs r
            where r.run_id > after and r.remaining_steps is not null and r.completed_at < bound
              and r.deleted_at is null
            order by r.run_id limit 1000
        );
        exit when cardinality(old) = 0;
        after := old[cardinality(old)];
        -- Some may have to stay, such as runs that a live run has called.
        perform {schema}.remove_runs(array(select {schema}.prunable_runs(old, false)));
    end loop;
end
$$;

revoke all on all functions in schema pgflow from public;
