-- Steps with a condition or a map: the condition decides whether they start, the array how many tasks they get. See
-- flow/flow_engine.sql.

-- Returns 'met', 'unmet', or the reason why the comparison is impossible.
create or replace function {schema}.condition_verdict(input text, required json, forbidden json) returns text
language plpgsql immutable
as $$
begin
    return case when (required is null or input::jsonb @> required::jsonb)
                     and (forbidden is null or not input::jsonb @> forbidden::jsonb)
                then 'met' else 'unmet' end;
exception when others then
    return sqlerrm;
end
$$;
comment on function {schema}.condition_verdict is 'Internal: whether the input of a step meets its condition.';

create or replace function {schema}.element_count(value text) returns integer
language sql immutable
as $$ select case when json_typeof(value::json) = 'array' then json_array_length(value::json) end $$;
comment on function {schema}.element_count is 'Internal: the length of a JSON array; null for any other JSON.';

-- The text must be valid JSON.
create or replace function {schema}.is_array(value text) returns boolean
language sql immutable
as $$ select ltrim(value, E' \t\r\n') like '[%' $$;
comment on function {schema}.is_array is 'Internal: whether a JSON text is an array.';

-- {"<dependency>": output, ...} without the braces; skipped dependencies are omitted.
create or replace function {schema}.deps_members(run_id bigint, deps text[]) returns text
language sql stable
as $$
    select string_agg('"' || s.step_id || '":' || s.output, ',' order by s.position)
    from {schema}.steps s
    where s.run_id = deps_members.run_id and s.step_id = any(deps) and s.status = 'SUCCESS'
$$;
comment on function {schema}.deps_members is
    'Internal: the outputs of a step''s dependencies, as members of a JSON object.';

create or replace function {schema}.dep_slugs(workflow_id bigint, step_index integer) returns text[]
language sql stable
as $$
    select array(
        select f.step_slug::text from {schema}.flow_deps d
        join {schema}.flow_steps f on f.workflow_id = d.workflow_id and f.step_index = d.dep_index
        where d.workflow_id = dep_slugs.workflow_id and d.step_index = dep_slugs.step_index
        order by d.dep_index
    )
$$;
comment on function {schema}.dep_slugs is 'Internal: the dependencies of a step of a flow.';

-- Decides about ready steps: start, empty (a map without elements), skip, skip-cascade, or fail with an error. All
-- results are aligned with the steps; `sources` are the arrays of maps, `tasks` the number of tasks of each step.
create or replace function {schema}.judge_steps(
    runs bigint[], workflows bigint[], indexes integer[],
    out slugs text[], out sources text[], out tasks integer[], out maps boolean[], out delays bigint[],
    out leases bigint[], out in_lanes boolean[], out decisions text[], out errors text[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    in_lane boolean := current_setting('transaction_isolation') <> 'read committed';  -- see flow/lanes.sql
begin
    select array_agg(b.slug), array_agg(b.source), array_agg(b.tasks),
           array_agg(b.is_map), array_agg(b.delay_ms), array_agg(b.lease_ms),
           array_agg(b.in_lane),
           array_agg(
               case when b.verdict = 'unmet' then b.when_unmet
                    when b.verdict <> 'met' or b.tasks is null then 'fail'
                    when b.tasks = 0 then 'empty'
                    else 'start' end order by b.place
           ),
           array_agg(
               case when b.verdict = 'unmet' then format(
                        '{"type":"condition_unmet","message":%s,"step":"%s"}',
                        to_json(format('{text:condition_unmet}', b.slug)), b.slug)
                    when b.verdict <> 'met' then format(
                        '{"type":"condition_error","message":%s,"step":"%s"}',
                        to_json(format('{text:condition_failed}', b.slug, b.verdict)),
                        b.slug)
                    when b.tasks is null then format(
                        '{"type":"not_an_array","message":%s,"step":"%s"}',
                        to_json(format('{text:map_needs_array}', b.slug,
                                       case when b.dep is null then '{text:input_of_run}'
                                            else format('{text:output_of_step}', b.dep) end)),
                        b.slug)
                    end order by b.place
           )
    into slugs, sources, tasks, maps, delays, leases, in_lanes, decisions, errors
    from (
        select i.*, case when i.verdict <> 'met' then 0
                         when i.is_map then {schema}.element_count(i.source)
                         else 1 end as tasks
        from (
            select u.place, f.step_slug as slug, f.step_type = 'map' as is_map, f.when_unmet,
                   f.start_delay_ms as delay_ms, f.deps[1] as dep,
                   {schema}.task_lease_ms(f.timeout_ms, f.task_timeout_ms) as lease_ms,
                   f.lanes <> 'off' or in_lane as in_lane,
                   case when f.required is null and f.forbidden is null then 'met'
                        else {schema}.condition_verdict(
                            case when cardinality(f.deps) = 0 then r.input
                                 else '{' || coalesce({schema}.deps_members(u.run_id, f.deps), '') || '}' end,
                            f.required, f.forbidden) end as verdict,
                   case when f.step_type <> 'map' then null
                        when cardinality(f.deps) = 0 then r.input
                        else (select case when s.status = 'SKIPPED' then '[]' else s.output end
                              from {schema}.steps s
                              where s.run_id = u.run_id and s.step_id = f.deps[1]) end as source
            from unnest(runs, workflows, indexes) with ordinality as u (run_id, workflow_id, step_index, place)
            cross join lateral (
                select f.step_slug, f.step_type, f.when_unmet, f.start_delay_ms, f.timeout_ms,
                       f.required_input_pattern as required, f.forbidden_input_pattern as forbidden,
                       w.task_timeout_ms, w.lanes, {schema}.dep_slugs(f.workflow_id, f.step_index) as deps
                from {schema}.flow_steps f join {schema}.workflows w using (workflow_id)
                where f.workflow_id = u.workflow_id and f.step_index = u.step_index
                offset 0
            ) f
            cross join lateral (
                select r.input from {schema}.runs r where r.run_id = u.run_id offset 0
            ) r
            offset 0  -- else the function calls above are repeated wherever their results are used
        ) i
        order by i.place
        offset 0
    ) b;
end
$$;
comment on function {schema}.judge_steps is 'Internal: decides whether ready steps start, are skipped, or fail.';

-- Also creates their messages.
create or replace function {schema}.create_tasks(
    runs bigint[], workflows bigint[], run_priorities integer[], indexes integer[], visible timestamptz[],
    judged record, at timestamptz
) returns void
language plpgsql
as $$
#variable_conflict use_column
begin
    with elements as materialized (
        select u.run_id, u.workflow_id, u.priority, u.step_index, u.place, e.task_index, e.element,
               greatest(u.visible, create_tasks.at) + {schema}.ms(u.delay_ms) as start, u.lease_ms,
               u.in_lane
        from unnest(runs, workflows, run_priorities, indexes, judged.sources, judged.maps, judged.delays,
                    judged.leases, judged.in_lanes, judged.decisions, visible) with ordinality
            as u (run_id, workflow_id, priority, step_index, source, is_map, delay_ms, lease_ms, in_lane, decision,
                  visible, place)
        cross join lateral (
            select (e.place - 1)::integer as task_index, e.value::text as element
            from json_array_elements(case when u.is_map then u.source else '[0]' end::json)
                with ordinality as e (value, place)
        ) e
        where u.decision = 'start'
        order by u.place, e.task_index
    ),
    numbered as materialized (
        select nextval('{schema}.messages_message_id_seq') as message_id, e.* from elements e
    ),
    made as (
        insert into {schema}.messages
            (message_id, queue_id, priority, state, visible_at, enqueued_at, payload, run_id, step_index,
             task_index, lease_ms, lane)
        select e.message_id, e.workflow_id, e.priority,
               case when e.start > create_tasks.at then 'waiting' else 'ready' end,
               e.start, create_tasks.at, 'null', e.run_id,
               e.step_index, e.task_index, e.lease_ms,
               case when e.in_lane then e.step_index end
        from numbered e
    )
    insert into {schema}.tasks
        (run_id, step_index, task_index, message_id, status, queued_at, input)
    select e.run_id, e.step_index, e.task_index, e.message_id, 'QUEUED', create_tasks.at,
           case when judged.maps[e.place::integer] then e.element end
    from numbered e;
end
$$;
comment on function {schema}.create_tasks is 'Internal: creates the tasks of steps that start.';

-- Starts ready steps with conditions or maps. Returns the steps that are done already: skipped, or a map without
-- elements. `visible` is the earliest delivery for root steps; null means now.
create or replace function {schema}.start_conditional_steps(
    runs bigint[], workflows bigint[], run_priorities integer[], indexes integer[],
    visible timestamptz[], at timestamptz,
    out run_ids bigint[], out workflow_ids bigint[], out priorities integer[], out step_indexes integer[],
    out finished bigint[], out started boolean,
    out failed_runs bigint[], out failed_indexes integer[], out failed_errors text[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    n        record;
    cascaded bigint[];
begin
    n := {schema}.judge_steps(runs, workflows, indexes);
    update {schema}.steps s
    set status = case u.decision when 'start' then 'RUNNING' when 'empty' then 'SUCCESS' else 'SKIPPED' end,
        skip_reason = case when u.decision like 'skip%' then 'condition_unmet' end,
        started_at = case when u.decision in ('start', 'empty') then start_conditional_steps.at end,
        completed_at = case when u.decision <> 'start' then start_conditional_steps.at end,
        initial_tasks = case when u.decision in ('start', 'empty') then u.tasks end,
        remaining_tasks = case when u.decision in ('start', 'empty') then u.tasks end,
        output = case when u.decision = 'empty' then '[]' end
    from unnest(runs, n.slugs, n.decisions, n.tasks) as u (run_id, slug, decision, tasks)
    where s.run_id = any(array[u.run_id]) and s.step_id = u.slug and u.decision <> 'fail';

    started := 'start' = any(n.decisions);
    if started then
        perform {schema}.create_tasks(runs, workflows, run_priorities, indexes, visible, n, at);
    end if;

    select array_agg(u.run_id) filter (where u.decision in ('skip', 'empty')),
           array_agg(u.workflow_id) filter (where u.decision in ('skip', 'empty')),
           array_agg(u.priority) filter (where u.decision in ('skip', 'empty')),
           array_agg(u.step_index) filter (where u.decision in ('skip', 'empty')),
           array_agg(u.run_id) filter (where u.decision in ('skip', 'skip-cascade', 'empty')),
           array_agg(u.run_id) filter (where u.decision = 'fail'),
           array_agg(u.step_index) filter (where u.decision = 'fail'),
           array_agg(u.error) filter (where u.decision = 'fail')
    into run_ids, workflow_ids, priorities, step_indexes, finished, failed_runs, failed_indexes,
         failed_errors
    from unnest(runs, workflows, run_priorities, indexes, n.decisions, n.errors)
        as u (run_id, workflow_id, priority, step_index, decision, error);
    if 'skip-cascade' = any(n.decisions) then
        select {schema}.skip_dependents(array_agg(u.run_id), array_agg(u.workflow_id), array_agg(u.step_index), at)
        into cascaded
        from unnest(runs, workflows, indexes, n.decisions) as u (run_id, workflow_id, step_index, decision)
        where u.decision = 'skip-cascade';
        finished := finished || cascaded;
    end if;
end
$$;
comment on function {schema}.start_conditional_steps is
    'Internal: starts or skips ready steps with conditions or maps, or returns why their runs fail.';

-- Skips all direct and indirect dependents of these steps; returns one run per skipped step.
create or replace function {schema}.skip_dependents(
    run_ids bigint[], workflow_ids bigint[], step_indexes integer[], at timestamptz
) returns bigint[]
language sql
as $$
    with recursive below (run_id, workflow_id, step_index) as (
        select u.run_id, u.workflow_id, d.step_index
        from unnest(run_ids, workflow_ids, step_indexes) as u (run_id, workflow_id, step_index)
        cross join lateral (
            select d.step_index from {schema}.flow_deps d
            where d.workflow_id = u.workflow_id and d.dep_index = u.step_index offset 0
        ) d
        union
        select b.run_id, b.workflow_id, d.step_index
        from below b
        cross join lateral (
            select d.step_index from {schema}.flow_deps d
            where d.workflow_id = b.workflow_id and d.dep_index = b.step_index offset 0
        ) d
    ),
    skipped as (
        update {schema}.steps s
        set status = 'SKIPPED', skip_reason = 'dependency_skipped', completed_at = skip_dependents.at
        from (
            select b.run_id, f.step_slug from below b
            cross join lateral (
                select f.step_slug from {schema}.flow_steps f
                where f.workflow_id = b.workflow_id and f.step_index = b.step_index offset 0
            ) f
        ) b
        where s.run_id = any(array[b.run_id]) and s.step_id = b.step_slug and s.status = 'PENDING'
        returning s.run_id
    )
    select coalesce(array_agg(s.run_id), '{}') from skipped s
$$;
comment on function {schema}.skip_dependents is 'Internal: skips all dependents of skipped steps.';
