-- Flows as JSON, in the format of src/model/flow_json.cpp.

create or replace function {schema}.get_flow_shape(flow_slug text) returns json
language sql stable
as $$
    select concat(
        '{"slug":"', flow_slug, '","max_attempts":', w.max_attempts,
        ',"base_delay":', trim_scale(w.backoff_base_ms / 1000.0),
        ',"timeout":', trim_scale(coalesce(w.task_timeout_ms, 0) / 1000.0),
        ',"steps":[', (
            select string_agg(concat(
                '{"slug":"', f.step_slug, '","step_type":"', f.step_type, '","deps":', (
                    select '[' || coalesce(string_agg('"' || s.step_slug || '"', ',' order by s.step_index), '')
                           || ']'
                    from {schema}.flow_deps d
                    join {schema}.flow_steps s on s.workflow_id = d.workflow_id and s.step_index = d.dep_index
                    where d.workflow_id = f.workflow_id and d.step_index = f.step_index
                ),
                ',"max_attempts":' || f.max_attempts,
                ',"base_delay":' || trim_scale(f.base_delay_ms / 1000.0),
                ',"timeout":' || trim_scale(f.timeout_ms / 1000.0),
                ',"start_delay":', trim_scale(f.start_delay_ms / 1000.0),
                ',"required_input_pattern":' || f.required_input_pattern,
                ',"forbidden_input_pattern":' || f.forbidden_input_pattern,
                ',"when_unmet":"', f.when_unmet, '","when_exhausted":"', f.when_exhausted, '"}'
            ), ',' order by f.step_index)
            from {schema}.flow_steps f where f.workflow_id = w.workflow_id
        ), ']}'
    )::json
    from {schema}.workflows w where w.workflow_id = {schema}.flow_id(flow_slug)
$$;
comment on function {schema}.get_flow_shape is
    'A flow with all its steps as JSON: {"slug", options, "steps": [{"slug", "step_type", "deps", ...}]}.';

create or replace function {schema}.shape_number(shape json, name text, whole boolean) returns numeric
language plpgsql immutable
as $$
begin
    if coalesce(json_typeof(shape -> name), 'null') = 'null' then
        return null;
    elsif json_typeof(shape -> name) <> 'number' then
        raise exception 'flow shape: ''%'' must be a %', name,
            case when whole then 'whole number' else 'number of seconds' end using errcode = 'PW003';
    elsif whole and (shape ->> name !~ '^-?[0-9]{1,9}$') then
        raise exception 'flow shape: ''%'' must be a whole number', name using errcode = 'PW003';
    end if;
    return (shape ->> name)::numeric;
end
$$;
comment on function {schema}.shape_number is 'Internal: a number in a flow''s shape; null if it is missing.';

create or replace function {schema}.shape_text(shape json, name text, otherwise text) returns text
language plpgsql immutable
as $$
begin
    if coalesce(json_typeof(shape -> name), 'null') = 'null' then
        return otherwise;
    elsif json_typeof(shape -> name) <> 'string' then
        raise exception 'flow shape: ''%'' must be a string', name using errcode = 'PW003';
    end if;
    return shape ->> name;
end
$$;
comment on function {schema}.shape_text is 'Internal: a string in a flow''s shape, or the default if it is missing.';

-- One row per step, with the arguments of add_step. Raises if the JSON is not a shape.
create or replace function {schema}.shape_steps(shape json) returns table (
    place integer, slug text, step_type text, deps text[], max_attempts integer, base_delay numeric,
    timeout numeric, start_delay numeric, required_input_pattern text, forbidden_input_pattern text,
    when_unmet text, when_exhausted text
)
language plpgsql immutable
as $$
#variable_conflict use_column
declare
    step json;
    n    integer := 0;
begin
    if json_typeof(shape) is distinct from 'object' then
        raise exception 'flow shape: must be an object' using errcode = 'PW003';
    elsif coalesce(json_typeof(shape -> 'steps'), 'null') = 'null' then
        return;
    elsif json_typeof(shape -> 'steps') <> 'array' then
        raise exception 'flow shape: ''steps'' must be an array' using errcode = 'PW003';
    end if;
    for step in select json_array_elements(shape -> 'steps') loop
        if json_typeof(step) <> 'object' then
            raise exception 'flow shape: each step must be an object' using errcode = 'PW003';
        end if;
        slug := {schema}.shape_text(step, 'slug', '');
        deps := '{}';
        if coalesce(json_typeof(step -> 'deps'), 'null') <> 'null' then
            if json_typeof(step -> 'deps') <> 'array' then
                raise exception 'flow shape: deps of ''%'' must be an array', slug using errcode = 'PW003';
            elsif exists (select from json_array_elements(step -> 'deps') d where json_typeof(d) <> 'string') then
                raise exception 'flow shape: deps of ''%'' must be strings', slug using errcode = 'PW003';
            end if;
            deps := array(select json_array_elements_text(step -> 'deps'));
        end if;
        place := n;
        step_type := {schema}.shape_text(step, 'step_type', 'single');
        max_attempts := {schema}.checked_attempts(
            format('step ''%s''', slug), {schema}.shape_number(step, 'max_attempts', true)::integer);
        base_delay := {schema}.shape_number(step, 'base_delay', false);
        timeout := {schema}.shape_number(step, 'timeout', false);
        start_delay := coalesce({schema}.shape_number(step, 'start_delay', false), 0);
        required_input_pattern := step -> 'required_input_pattern';
        forbidden_input_pattern := step -> 'forbidden_input_pattern';
        when_unmet := {schema}.shape_text(step, 'when_unmet', 'skip');
        when_exhausted := {schema}.shape_text(step, 'when_exhausted', 'fail');
        return next;
        n := n + 1;
    end loop;
end
$$;
comment on function {schema}.shape_steps is 'Internal: the steps of a flow''s shape, one row each.';

-- create_flow() and add_step() for each step.
create or replace function {schema}.create_flow_shape(shape json) returns void
language plpgsql
as $$
declare
    step record;
begin
    perform {schema}.create_flow(
        {schema}.shape_text(shape, 'slug', ''), {schema}.shape_number(shape, 'max_attempts', true)::integer,
        {schema}.shape_number(shape, 'base_delay', false), {schema}.shape_number(shape, 'timeout', false));
    for step in select * from {schema}.shape_steps(shape) s order by s.place loop
        perform {schema}.add_step(
            {schema}.shape_text(shape, 'slug', ''), step.slug, step.deps, step.max_attempts,
            step.base_delay, step.timeout, step.start_delay, step.step_type, step.required_input_pattern,
            step.forbidden_input_pattern, step.when_unmet, step.when_exhausted);
    end loop;
end
$$;
comment on function {schema}.create_flow_shape(json) is
    'Creates a flow with its steps, or adds new steps to an existing flow.';

-- Describes the first difference between the shape and the stored flow; empty if they are equal. Options that the shape
-- omits are not compared.
create or replace function {schema}.flow_difference(shape json) returns text
language plpgsql stable
as $$
declare
    flow_slug   text := {schema}.shape_text(shape, 'slug', '');
    flow        bigint := {schema}.flow_id(flow_slug);
    whose       text := format('flow ''%s''', flow_slug);
    differences text;
begin
    select string_agg(format('{text:value_differs}', n.name, n.stored, n.given), '; ' order by n.place)
    into differences
    from {schema}.workflows w
    cross join lateral unnest(
        array['max_attempts', 'base_delay', 'timeout'],
        array[w.max_attempts::text, w.backoff_base_ms || ' ms', coalesce(w.task_timeout_ms, 0) || ' ms'],
        array[{schema}.checked_attempts(whose, {schema}.shape_number(shape, 'max_attempts', true)::integer)::text,
              {schema}.seconds_to_ms(whose, {schema}.shape_number(shape, 'base_delay', false)) || ' ms',
              {schema}.seconds_to_ms(whose, {schema}.shape_number(shape, 'timeout', false)) || ' ms']
    ) with ordinality as n (name, stored, given, place)
    where w.workflow_id = flow and n.stored <> n.given;
    return concat_ws('; ', differences, (
        select string_agg(n.words, '; ' order by n.place)
        from (
            select s.place, case
                when f.step_slug <> s.slug then format('{text:step_differs}', s.place, f.step_slug, s.slug)
                else nullif({schema}.flow_step_difference(
                    flow, s.place, s.step_type, s.deps, s.max_attempts,
                    {schema}.seconds_to_ms(whose, s.base_delay), {schema}.seconds_to_ms(whose, s.timeout),
                    {schema}.seconds_to_ms(whose, s.start_delay), s.required_input_pattern,
                    s.forbidden_input_pattern, s.when_unmet, s.when_exhausted), '')
                end as words, f.step_slug = s.slug as is_same, f.step_slug
            from {schema}.shape_steps(shape) s
            join {schema}.flow_steps f on f.workflow_id = flow and f.step_index = s.place
        ) d
        cross join lateral (
            select d.place, case when d.is_same then format('step ''%s'': %s', d.step_slug, d.words)
                                 else d.words end as words
        ) n
        where d.words is not null
    ), (
        select format('{text:steps_differ}', c.stored, c.given)
        from (
            select (select count(*) from {schema}.flow_steps f where f.workflow_id = flow) as stored,
                   (select count(*) from {schema}.shape_steps(shape)) as given
        ) c
        where c.stored <> c.given
    ));
end
$$;
comment on function {schema}.flow_difference is 'Internal: describes how a shape differs from the stored flow.';

-- `force` is for development: a different flow is deleted with its runs and created again.
create or replace function {schema}.ensure_flow(shape json, force boolean default false) returns text
language plpgsql
as $$
declare
    flow_slug  text;
    difference text;
    is_locked  boolean := false;
begin
    perform {schema}.shape_steps(shape);
    flow_slug := {schema}.shape_text(shape, 'slug', '');
    perform {schema}.check_slug('flow', flow_slug);
    loop
        difference := null;
        if is_locked or force is not true then
            if exists (
                select from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
                where q.name = flow_slug and w.is_flow
            ) then
                difference := {schema}.flow_difference(shape);
            end if;
            if difference = '' then
                return 'same';
            end if;
        end if;
        exit when is_locked;
        -- Programs that start at the same time: one creates the flow, the others wait and find it.
        lock table {schema}.flow_turn in exclusive mode;
        is_locked := true;
    end loop;
    if difference is null then
        perform {schema}.create_flow_shape(shape);
        return 'created';
    elsif force is not true then
        raise exception '{text:flow_differs}', flow_slug, difference
            using errcode = 'PW017';
    end if;
    perform {schema}.delete_flow_and_data(flow_slug, true);
    perform {schema}.create_flow_shape(shape);
    return 'recreated';
end
$$;
comment on function {schema}.ensure_flow(json, boolean) is
    'Returns created if the flow was new and same if it is equal. A different flow is refused or, with force, replaced.';
