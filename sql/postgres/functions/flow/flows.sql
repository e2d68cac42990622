-- Definition of flows. A flow is a workflow whose steps and dependencies are declared. All functions for flows take
-- times in seconds. src/model/flow.cpp has the same rules in C++.

create or replace function {schema}.check_slug(what text, slug text) returns void
language plpgsql immutable
as $$
begin
    if slug is null or slug !~ '^[A-Za-z_][A-Za-z0-9_]*$' or length(slug) > {rule:max_name_bytes} then
        raise exception '{text:slug}', what, slug, {rule:max_name_bytes} using errcode = 'PW003';
    elsif slug = 'run' then
        raise exception '{text:slug_run}', what using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_slug is 'Internal: raises if a text cannot name a flow or a step.';

-- Null stays null.
create or replace function {schema}.seconds_to_ms(what text, seconds numeric) returns bigint
language plpgsql immutable
as $$
begin
    if seconds < 0 then
        raise exception '{text:negative}', what using errcode = 'PW003';
    elsif seconds > {rule:longest_delay_s} then
        raise exception '{text:too_long}', what using errcode = 'PW003';
    end if;
    return round(seconds * 1000)::bigint;
end
$$;
comment on function {schema}.seconds_to_ms is
    'Internal: converts seconds to milliseconds; raises if they are negative or too long.';

-- 0 and 1 both mean no retry. Null stays null.
create or replace function {schema}.checked_attempts(whose text, max_attempts integer) returns integer
language plpgsql immutable
as $$
begin
    if max_attempts not between 0 and {rule:max_attempts} then
        raise exception '{text:task_attempts}', whose, {rule:max_attempts} using errcode = 'PW003';
    end if;
    return case when max_attempts = 0 then 1 else max_attempts end;
end
$$;
comment on function {schema}.checked_attempts is
    'Internal: how often a task may be started; raises if max_attempts is out of bounds.';

create or replace function {schema}.flow_id(flow_slug text) returns bigint
language plpgsql stable
as $$
declare
    id bigint;
begin
    select w.workflow_id into id
    from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
    where q.name = flow_slug and w.is_flow;
    if id is null then
        raise exception '{text:flow_missing}', flow_slug, flow_slug using errcode = 'PW016';
    end if;
    return id;
end
$$;
comment on function {schema}.flow_id is
    'Internal: the id of a flow, which is the id of its queue; raises if the flow does not exist.';

create or replace function {schema}.create_flow(
    flow_slug    text,
    max_attempts integer default null,
    base_delay   numeric default null,
    timeout      numeric default null
) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at        timestamptz := {schema}.clock();
    whose         text := format('flow ''%s''', flow_slug);
    base_delay_ms bigint;
    timeout_ms    bigint;
    id            bigint;
    taken_by      text;
begin
    perform {schema}.check_slug('flow', flow_slug);
    max_attempts := {schema}.checked_attempts(whose, create_flow.max_attempts);
    base_delay_ms := {schema}.seconds_to_ms(whose || ': base_delay', base_delay);
    timeout_ms := {schema}.seconds_to_ms(whose || ': timeout', timeout);
    loop
        insert into {schema}.queues (name, keep_archive, max_attempts, created_at)
        values (flow_slug, false, 0, now_at)
        on conflict (name) do nothing
        returning queue_id into id;
        if id is not null then
            insert into {schema}.workflows
                (workflow_id, max_attempts, backoff_base_ms, task_timeout_ms, is_flow, created_at)
            values (id, coalesce(create_flow.max_attempts, {rule:default_flow_attempts}),
                    coalesce(base_delay_ms, {rule:default_flow_base_delay_ms}),
                    nullif(coalesce(timeout_ms, {rule:default_flow_timeout_ms}), 0), true, now_at);
            return;
        end if;
        update {schema}.workflows w
        set max_attempts = coalesce(create_flow.max_attempts, w.max_attempts),
            backoff_base_ms = coalesce(base_delay_ms, w.backoff_base_ms),
            task_timeout_ms = case when timeout_ms is null then w.task_timeout_ms else nullif(timeout_ms, 0) end
        from {schema}.queues q
        where q.name = flow_slug and w.workflow_id = q.queue_id and w.is_flow;
        exit when found;
        select case when w.workflow_id is null then 'queue' else 'workflow' end into taken_by
        from {schema}.queues q left join {schema}.workflows w on w.workflow_id = q.queue_id
        where q.name = flow_slug;
        if found then
            raise exception '{text:not_a_flow}', taken_by, flow_slug
                using errcode = 'PW003';
        end if;
        -- The flow was deleted while we waited for its lock, so the name is free.
    end loop;
end
$$;
comment on function {schema}.create_flow is
    'Creates a flow and its queue, or changes the given options of an existing flow. Times are in seconds; timeout 0: none.';

create or replace function {schema}.normalized_json(pattern text) returns text
language plpgsql immutable
as $$
begin
    return pattern::jsonb::text;
exception when others then  -- text that jsonb cannot hold
    return pattern;
end
$$;
comment on function {schema}.normalized_json is 'Internal: normalizes JSON text, if possible.';

create or replace function {schema}.check_pattern(whose text, pattern_name text, pattern text) returns json
language plpgsql immutable
as $$
begin
    return pattern::json;
exception when others then
    raise exception '{text:not_json}', whose, pattern_name, sqlerrm using errcode = 'PW003';
end
$$;
comment on function {schema}.check_pattern is 'Internal: a condition pattern as JSON; raises if it is not JSON.';

-- Describes how the given step differs from the stored one; empty if they are equal.
create or replace function {schema}.flow_step_difference(
    flow bigint, stored_index integer, step_type text, deps text[], max_attempts integer,
    base_delay_ms bigint, timeout_ms bigint, start_delay_ms bigint, required_input_pattern text,
    forbidden_input_pattern text, when_unmet text, when_exhausted text
) returns text
language sql stable
as $$
    select coalesce(string_agg(format('{text:value_differs}', n.name, n.stored, n.given), '; ' order by n.place), '')
    from {schema}.flow_steps f
    cross join lateral unnest(
        array['step_type', 'deps', 'max_attempts', 'base_delay', 'timeout', 'start_delay',
              'required_input_pattern', 'forbidden_input_pattern', 'when_unmet', 'when_exhausted'],
        array[
            f.step_type,
            '{' || coalesce((
                select string_agg(s.step_slug, ',' order by s.step_slug)
                from {schema}.flow_deps d
                join {schema}.flow_steps s on s.workflow_id = d.workflow_id and s.step_index = d.dep_index
                where d.workflow_id = flow and d.step_index = stored_index
            ), '') || '}',
            coalesce(f.max_attempts::text, 'the flow''s'),
            coalesce(f.base_delay_ms || ' ms', 'the flow''s'),
            coalesce(f.timeout_ms || ' ms', 'the flow''s'),
            f.start_delay_ms || ' ms',
            coalesce({schema}.normalized_json(f.required_input_pattern::text), 'none'),
            coalesce({schema}.normalized_json(f.forbidden_input_pattern::text), 'none'),
            f.when_unmet, f.when_exhausted
        ],
        array[
            flow_step_difference.step_type,
            '{' || coalesce((
                select string_agg(u.dep, ',' order by u.dep)
                from (select distinct u collate "C" as dep from unnest(deps) u) u
            ), '') || '}',
            coalesce(flow_step_difference.max_attempts::text, 'the flow''s'),
            coalesce(flow_step_difference.base_delay_ms || ' ms', 'the flow''s'),
            coalesce(flow_step_difference.timeout_ms || ' ms', 'the flow''s'),
            coalesce(flow_step_difference.start_delay_ms, 0) || ' ms',
            coalesce({schema}.normalized_json(flow_step_difference.required_input_pattern), 'none'),
            coalesce({schema}.normalized_json(flow_step_difference.forbidden_input_pattern), 'none'),
            flow_step_difference.when_unmet, flow_step_difference.when_exhausted
        ]
    ) with ordinality as n (name, stored, given, place)
    where f.workflow_id = flow and f.step_index = stored_index and n.stored <> n.given
$$;
comment on function {schema}.flow_step_difference is
    'Internal: describes how a step differs from the stored step of that index.';

-- Adding the same step again is a no-op. Runs that have started keep their steps. Both patterns have the same type,
-- json, jsonb or text. An overload per type is not possible, because all parameters before them have defaults.
drop function if exists {schema}.add_step(  -- its patterns were text
    text, text, text[], integer, numeric, numeric, numeric, text, text, text, text, text, text[]);
create or replace function {schema}.add_step(
    flow_slug               text,
    step_slug               text,
    deps_slugs              text[] default '{}',
    max_attempts            integer default null,
    base_delay              numeric default null,
    timeout                 numeric default null,
    start_delay             numeric default null,
    step_type               text default 'single',
    required_input_pattern  anycompatible default null,
    forbidden_input_pattern anycompatible default null,
    when_unmet              text default 'skip',
    when_exhausted          text default 'fail',
    deps                    text[] default null
) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    flow        bigint := {schema}.flow_id(flow_slug);
    whose       text := format('step ''%s'' of flow ''%s''', add_step.step_slug, flow_slug);
    wanted      text[] := array(
        select distinct coalesce(u, '') from unnest(coalesce(add_step.deps, deps_slugs, '{}')) u);
    required    text := add_step.required_input_pattern::text;
    forbidden   text := add_step.forbidden_input_pattern::text;
    base_ms     bigint;
    limit_ms    bigint;
    start_ms    bigint;
    dep_indexes integer[];
    found_index integer;
    difference  text;
    unknown     text;
begin
    perform {schema}.check_slug('step', add_step.step_slug);
    max_attempts := {schema}.checked_attempts(whose, add_step.max_attempts);
    base_ms := {schema}.seconds_to_ms(whose || ': base_delay', base_delay);
    limit_ms := {schema}.seconds_to_ms(whose || ': timeout', timeout);
    start_ms := coalesce({schema}.seconds_to_ms(whose || ': start_delay', start_delay), 0);
    perform {schema}.check_pattern(whose, 'required_input_pattern', required);
    perform {schema}.check_pattern(whose, 'forbidden_input_pattern', forbidden);
    perform {schema}.check_step_words(whose, add_step.step_type, add_step.when_unmet, add_step.when_exhausted);
    if add_step.step_slug = any(wanted) then
        raise exception '{text:step_depends_on_itself}', whose using errcode = 'PW003';
    elsif add_step.step_type = 'map' and cardinality(wanted) > 1 then
        raise exception '{text:map_depends_on_several}', whose
            using errcode = 'PW003';
    end if;

    for turn in 1..2 loop
        select f.step_index into found_index
        from {schema}.flow_steps f where f.workflow_id = flow and f.step_slug = add_step.step_slug;
        if found_index is not null then
            difference := {schema}.flow_step_difference(
                flow, found_index, add_step.step_type, wanted, add_step.max_attempts, base_ms, limit_ms,
                start_ms, required, forbidden, add_step.when_unmet, add_step.when_exhausted);
            if difference <> '' then
                raise exception '{text:step_of_flow_differs}', add_step.step_slug, add_step.flow_slug, difference
                    using errcode = 'PW017';
            end if;
            return;
        end if;
        exit when turn = 2;
        -- The workflow is locked before its queue, as in delete_workflow.
        perform from {schema}.workflows w where w.workflow_id = flow for key share;
        if not found then
            raise exception '{text:flow_missing}', flow_slug, flow_slug using errcode = 'PW016';
        end if;
        -- Triggers hold the queue's lock shared: so a run gets all steps that its flow had at one moment.
        perform {schema}.lock_queue(flow);
    end loop;

    select array_agg(f.step_index), min(u.dep) filter (where f.step_index is null)
    into dep_indexes, unknown
    from unnest(wanted) as u (dep)
    left join {schema}.flow_steps f on f.workflow_id = flow and f.step_slug = u.dep;
    if unknown is not null then
        raise exception '{text:dependency_missing}', whose, unknown
            using errcode = 'PW003';
    end if;
    insert into {schema}.flow_steps
        (workflow_id, step_index, step_slug, step_type, deps_count, max_attempts, base_delay_ms, timeout_ms,
         start_delay_ms, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted,
         created_at)
    select flow, coalesce(max(f.step_index) + 1, 0), add_step.step_slug, add_step.step_type,
           cardinality(wanted), add_step.max_attempts, base_ms, limit_ms, start_ms, required::json, forbidden::json,
           add_step.when_unmet, add_step.when_exhausted, {schema}.clock()
    from {schema}.flow_steps f where f.workflow_id = flow
    returning step_index into found_index;
    insert into {schema}.flow_deps (workflow_id, step_index, dep_index)
    select flow, found_index, u from unnest(dep_indexes) u;
    if add_step.step_type = 'map' then
        update {schema}.flow_steps f set feeds_map = true
        where f.workflow_id = flow and f.step_index = any(dep_indexes) and not f.feeds_map;
    end if;
end
$$;
comment on function {schema}.add_step is
    'Adds a step to a flow that has its dependencies. Adding the same step again is a no-op; a different step is refused.';

create or replace function {schema}.check_step_words(
    whose text, step_type text, when_unmet text, when_exhausted text
) returns void
language plpgsql immutable
as $$
begin
    if step_type is null or step_type not in ('single', 'map') then
        raise exception '%: unknown step_type ''%''; use single or map', whose, step_type using errcode = 'PW003';
    elsif when_unmet is null or when_unmet not in ('skip', 'skip-cascade', 'fail') then
        raise exception '%: unknown when_unmet ''%''; use skip, skip-cascade or fail', whose, when_unmet
            using errcode = 'PW003';
    elsif when_exhausted is null or when_exhausted not in ('fail', 'skip', 'skip-cascade') then
        raise exception '%: unknown when_exhausted ''%''; use fail, skip or skip-cascade', whose, when_exhausted
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_step_words is 'Internal: raises if a word among a step''s options is unknown.';

create or replace function {schema}.cancel_live_runs(workflow_id bigint, reason text) returns void
language plpgsql
as $$
begin
    perform {schema}.cancel_called_run(r.run_id, cancel_live_runs.reason, {schema}.clock())
    from (
        select r.run_id from {schema}.runs r
        where {schema}.run_group(r) in (0, 1) and r.workflow_id = cancel_live_runs.workflow_id
        order by r.run_id
    ) r;
end
$$;
comment on function {schema}.cancel_live_runs is 'Internal: cancels the live runs of a workflow.';

create or replace function {schema}.delete_flow_and_data(flow_slug text, force boolean default false)
returns void
language plpgsql
as $$
declare
    id   bigint := {schema}.flow_id(flow_slug);
    live bigint;
begin
    -- Runs are locked before the flow: a worker's batch that holds a run may need the flow for a dead letter.
    if force then
        perform {schema}.cancel_live_runs(id, '{text:flow_deleted}');
    end if;
    -- Lock order as in delete_workflow.
    perform from {schema}.workflows w where w.workflow_id = id for update;
    perform {schema}.lock_queue(id);
    if force then  -- runs that were started in the meantime
        perform {schema}.cancel_live_runs(id, '{text:flow_deleted}');
    end if;
    select count(*) into live from {schema}.runs r where {schema}.run_group(r) in (0, 1) and r.workflow_id = id;
    if live > 0 then
        raise exception '{text:flow_has_runs}', flow_slug, live
            using errcode = 'PW008';
    end if;
    perform {schema}.flow_id(flow_slug);  -- raises if the flow was deleted in the meantime
    perform {schema}.delete_workflow(flow_slug);
end
$$;
comment on function {schema}.delete_flow_and_data is
    'Deletes a flow with its queue and all its runs. Refused while it has live runs, unless force is true.';
