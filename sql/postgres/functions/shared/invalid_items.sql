-- Items of a batch that cannot be recorded: not JSON, an unknown status, a time out of bounds. Functions for holders do
-- not raise for these. The item gets the outcome `invalid` and keeps its lease; the other items are recorded.
--
-- The functions invalid_...() return null if all items are valid, which needs no query. Otherwise they return, for
-- each item, whether it is invalid. The caller sets the deliveries of invalid items to null (valid_deliveries), so that
-- no lease matches them, and marks their outcomes (mark_invalid).

create or replace function {schema}.valid_deliveries(deliveries integer[], invalid boolean[]) returns integer[]
language sql immutable
as $$
    select array(
        select case when u.invalid then null else u.delivery end
        from unnest(deliveries, invalid) with ordinality as u (delivery, invalid, place) order by u.place
    )
$$;
comment on function {schema}.valid_deliveries is 'Internal: the deliveries, with null for invalid items.';

create or replace function {schema}.mark_invalid(outcomes text[], invalid boolean[]) returns text[]
language plpgsql immutable
as $$
begin
    if invalid is null then
        return outcomes;
    end if;
    return array(
        select case when u.invalid then 'invalid' else u.outcome end
        from unnest(outcomes, invalid) with ordinality as u (outcome, invalid, place) order by u.place
    );
end
$$;
comment on function {schema}.mark_invalid is 'Internal: the outcomes, with ''invalid'' for invalid items.';

create or replace function {schema}.either_invalid(a boolean[], b boolean[]) returns boolean[]
language plpgsql immutable
as $$
begin
    if a is null or b is null then
        return coalesce(a, b);
    end if;
    return array(
        select coalesce(u.a, false) or coalesce(u.b, false)
        from unnest(a, b) with ordinality as u (a, b, place) order by u.place
    );
end
$$;
comment on function {schema}.either_invalid is 'Internal: the items that are invalid in either of two lists.';

-- A task is named by its step and index. If an array is too short, the remaining items have no name.
create or replace function {schema}.invalid_task_names(items integer, step_slugs text[], task_indexes integer[])
returns boolean[]
language plpgsql immutable
as $$
begin
    if cardinality(step_slugs) >= items and cardinality(task_indexes) >= items
       and array_position(step_slugs, null) is null and array_position(task_indexes, null) is null then
        return null;
    end if;
    return array(
        select step_slugs[i] is null or task_indexes[i] is null from generate_series(1, items) i order by i
    );
end
$$;
comment on function {schema}.invalid_task_names is 'Internal: the items of a batch that name no task.';

create or replace function {schema}.invalid_times(
    items integer, times_ms bigint[], lowest bigint, null_allowed boolean
) returns boolean[]
language plpgsql immutable
as $$
declare
    longest constant bigint := {rule:longest_delay_ms};
begin
    if (lowest > any(times_ms)) is not true and (longest < any(times_ms)) is not true
       and (null_allowed or (array_position(times_ms, null) is null and cardinality(times_ms) >= items)) then
        return null;
    end if;
    return array(
        select coalesce(times_ms[i] not between lowest and longest, not null_allowed)
        from generate_series(1, items) i order by i
    );
end
$$;
comment on function {schema}.invalid_times is 'Internal: the items whose time is out of bounds.';

-- Checks up to three texts per item.
create or replace function {schema}.invalid_json(items integer, a text[], b text[] default null, c text[] default null)
returns boolean[]
language plpgsql immutable
as $$
declare
    wrong_a text[];
    wrong_b text[];
    wrong_c text[];
begin
    if {schema}.are_json(a, b, c) then
        return null;
    end if;
    wrong_a := {schema}.json_errors(a);
    wrong_b := {schema}.json_errors(b);
    wrong_c := {schema}.json_errors(c);
    return array(
        select coalesce(wrong_a[i], wrong_b[i], wrong_c[i]) is not null from generate_series(1, items) i order by i
    );
end
$$;
comment on function {schema}.invalid_json is 'Internal: the items with a text that is not JSON.';

-- `known` has the allowed statuses. With null_allowed, an item without a step_id has no step and is valid.
create or replace function {schema}.invalid_steps(
    items integer, known text[], null_allowed boolean, step_ids text[], positions integer[], statuses text[],
    attempts integer[], wake_ats timestamptz[], elapsed_us bigint[]
) returns boolean[]
language plpgsql immutable
as $$
declare
    longest_us constant bigint := {rule:longest_delay_us};
    earliest   constant timestamptz := timestamptz '{rule:earliest_year}-01-01 00:00+00';
    latest     constant timestamptz := timestamptz '{rule:latest_year}-01-01 00:00+00';
begin
    if (null_allowed and step_ids is null)
       or (cardinality(step_ids) >= items and array_position(step_ids, null) is null
           and array_position(step_ids, '') is null
           and pg_column_size(step_ids::varchar(66)[]) = pg_column_size(step_ids)  -- all have up to 264 bytes
           and cardinality(positions) >= items and array_position(positions, null) is null
           and cardinality(statuses) >= items and (known[1] = all(statuses) or statuses <@ known)
           and cardinality(attempts) >= items and array_position(attempts, null) is null
           and 0 <= all(positions) and 0 <= all(attempts)
           and (0 > any(elapsed_us)) is not true and (longest_us < any(elapsed_us)) is not true
           and (earliest > any(wake_ats)) is not true and (latest < any(wake_ats)) is not true) then
        return null;
    end if;
    return array(
        select case when step_ids[i] is null then not null_allowed
                    else (octet_length(step_ids[i]) between 1 and {rule:max_recorded_id_bytes} and positions[i] >= 0 and attempts[i] >= 0
                          and statuses[i] = any(known) and (elapsed_us[i] between 0 and longest_us) is not false
                          and (wake_ats[i] between earliest and latest) is not false) is not true end
        from generate_series(1, items) i order by i
    );
end
$$;
comment on function {schema}.invalid_steps is 'Internal: the items whose step cannot be recorded.';

create or replace function {schema}.check_step(input text, output text, error text, wake_at timestamptz) returns void
language plpgsql stable
as $$
begin
    perform {schema}.require_json(input), {schema}.require_json(output), {schema}.require_json(error);
    perform {schema}.check_time('wake_at', wake_at);
end
$$;
comment on function {schema}.check_step is 'Internal: raises if a value of a step cannot be recorded.';

-- For functions that create one run per item; the arrays are those of trigger_batch().
create or replace function {schema}.invalid_new_runs(
    items integer, workflows text[], inputs text[], priorities integer[], delays_ms bigint[], ats timestamptz[],
    idempotency_keys text[], max_attempts integer[], tag_places integer[], tags text[]
) returns boolean[]
language plpgsql stable
as $$
declare
    invalid boolean[];
begin
    begin
        perform {schema}.check_given('workflows', coalesce(cardinality(workflows), 0) < items);
        perform {schema}.check_trigger(
            workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts, null, tag_places, tags);
        perform {schema}.workflow_ids(workflows);
        return null;
    exception when sqlstate 'PW003' or sqlstate 'PW007' then
        null;
    end;
    for i in 1..items loop
        begin
            perform {schema}.check_given('workflows', workflows[i] is null);
            perform {schema}.check_trigger(
                workflows[i:i], inputs[i:i], priorities[i:i], delays_ms[i:i], ats[i:i], idempotency_keys[i:i],
                max_attempts[i:i], null, array(select 1 from unnest(tag_places) p where p = i),
                array(select t.tag from unnest(tag_places, tags) as t (place, tag) where t.place = i));
            perform {schema}.workflow_ids(workflows[i:i]);
            invalid[i] := false;
        exception when sqlstate 'PW003' or sqlstate 'PW007' then
            invalid[i] := true;
        end;
    end loop;
    return invalid;
end
$$;
comment on function {schema}.invalid_new_runs is 'Internal: the items whose run cannot be created.';

-- The arguments are those of suspend_runs().
create or replace function {schema}.invalid_suspensions(
    items integer, statuses text[], delays_ms bigint[], untils timestamptz[], attempts integer[], step_ids text[],
    positions integer[], step_statuses text[], step_attempts integer[], inputs text[], errors text[],
    wake_ats timestamptz[], elapsed_us bigint[], event_data text[]
) returns boolean[]
language plpgsql stable
as $$
declare
    earliest constant timestamptz := timestamptz '{rule:earliest_year}-01-01 00:00+00';
    latest   constant timestamptz := timestamptz '{rule:latest_year}-01-01 00:00+00';
    invalid  boolean[];
begin
    if (cardinality(statuses) >= items and statuses <@ array['RUNNING', 'PAUSED']
        and (0 > any(attempts)) is not true and (earliest > any(untils)) is not true
        and (latest < any(untils)) is not true) is not true then
        invalid := array(
            select (statuses[i] in ('RUNNING', 'PAUSED') and coalesce(attempts[i], 0) >= 0
                    and (untils[i] between earliest and latest) is not false) is not true
            from generate_series(1, items) i order by i
        );
    end if;
    invalid := {schema}.either_invalid(invalid, {schema}.invalid_times(items, delays_ms, 0, true));
    invalid := {schema}.either_invalid(invalid, {schema}.invalid_steps(
        items, array['PENDING', 'PAUSED', 'RUNNING'], true, step_ids, positions, step_statuses, step_attempts, wake_ats,
        elapsed_us));
    return {schema}.either_invalid(
        invalid, {schema}.invalid_json(items, inputs, errors, array_replace(event_data, '', null)));
end
$$;
comment on function {schema}.invalid_suspensions is 'Internal: the items whose suspension is invalid.';
