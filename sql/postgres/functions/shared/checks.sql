-- Values that can never work are refused with our own messages before a constraint of a table refuses them. Arrays are
-- checked as a whole: a batch without errors costs one check for each. Nulls pass, except for required values. The bounds
-- are in src/model/rules.h, the same as for C++.

create or replace function {schema}.check_range(what text, value bigint, lowest bigint, highest bigint)
returns void
language plpgsql immutable
as $$
begin
    if value not between lowest and highest then
        raise exception '% must be % to %, not %', what, lowest, highest, value using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_range is 'Internal: refuses a number out of bounds.';

create or replace function {schema}.check_given(what text, is_null boolean) returns void
language plpgsql immutable
as $$
begin
    if is_null then
        raise exception '% must not be null', what using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_given is 'Internal: refuses a null.';

create or replace function {schema}.check_text(what text, value text, longest integer) returns void
language plpgsql immutable
as $$
begin
    if value is null or octet_length(value) not between 1 and longest then
        raise exception '{text:bytes_of_text}', what, longest using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_text is 'Internal: refuses a text that is missing or too long.';

create or replace function {schema}.check_time(what text, value timestamptz) returns void
language plpgsql stable
as $$
begin
    if value not between '{rule:earliest_year}-01-01 00:00+00' and '{rule:latest_year}-01-01 00:00+00' then
        raise exception '{text:years}', what, {rule:earliest_year}, {rule:latest_year} using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_time is 'Internal: refuses a time that cannot be stored everywhere.';

-- How many rows a page has.
create or replace function {schema}.page_size(max_rows integer) returns integer
language plpgsql immutable
as $$
begin
    if max_rows is null or max_rows not between 1 and {rule:max_page_rows} then
        raise exception 'max_rows must be 1 to {rule:max_page_rows}' using errcode = 'PW003';
    end if;
    return max_rows;
end
$$;
comment on function {schema}.page_size is 'Internal: refuses a page without an end.';

-- Arrays that are aligned with the items.
create or replace function {schema}.check_aligned(items integer, variadic lengths integer[]) returns void
language plpgsql immutable
as $$
begin
    if items < any(lengths) then
        raise exception 'the arrays must not have more elements than there are items: %', items
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_aligned is 'Internal: refuses arrays that are longer than the batch.';

-- What a claim may ask for; called if something is out of bounds.
create or replace function {schema}.refuse_claim(
    qty integer, lease_ms bigint, default_lease_ms bigint, floor_priority integer, looked_at timestamptz,
    swept_at timestamptz
) returns void
language plpgsql stable
as $$
begin
    perform {schema}.check_given('qty', qty is null);
    perform {schema}.check_range('qty', qty, 0, {rule:max_batch});
    perform {schema}.check_range('lease_ms', lease_ms, 0, {schema}.longest_ms());
    perform {schema}.check_given('default_lease_ms', default_lease_ms is null);
    perform {schema}.check_range('default_lease_ms', default_lease_ms, 0, {schema}.longest_ms());
    perform {schema}.check_range('floor_priority', floor_priority, -{rule:max_priority}, {rule:max_priority});
    perform {schema}.check_time('looked_at', looked_at);
    perform {schema}.check_time('swept_at', swept_at);
end
$$;
comment on function {schema}.refuse_claim is 'Internal: says what a claim may not ask for.';

-- Whether a claim is within these bounds. It is expanded into the caller's expression.
create or replace function {schema}.may_claim(
    qty integer, lease_ms bigint, default_lease_ms bigint, floor_priority integer, looked_at timestamptz,
    swept_at timestamptz
) returns boolean
language sql immutable
as $$
    select qty between 0 and {rule:max_batch} and (lease_ms between 0 and {rule:longest_delay_ms}) is not false
       and default_lease_ms between 0 and {rule:longest_delay_ms}
       and (floor_priority between -{rule:max_priority} and {rule:max_priority}) is not false
       and (looked_at between '{rule:earliest_year}-01-01 00:00+00' and '{rule:latest_year}-01-01 00:00+00') is not false
       and (swept_at between '{rule:earliest_year}-01-01 00:00+00' and '{rule:latest_year}-01-01 00:00+00') is not false
$$;
comment on function {schema}.may_claim is 'Internal: whether a claim asks for what it can get.';

create or replace function {schema}.longest_ms() returns bigint
language sql immutable
as $$ select {rule:longest_delay_ms} $$;
comment on function {schema}.longest_ms is 'Internal: the longest time that anything may take.';

create or replace function {schema}.check_word(what text, word text, words text[]) returns void
language plpgsql immutable
as $$
begin
    if word <> all(words) then
        raise exception '%: unknown word ''%'': use %', what, word, array_to_string(words, ', ')
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_word is 'Internal: refuses a word that is not among those known.';

-- Where and when messages and runs stand in their queue.
create or replace function {schema}.check_places(priorities integer[], delays_ms bigint[], ats timestamptz[])
returns void
language plpgsql stable
as $$
begin
    if -{rule:max_priority} > any(priorities) or {rule:max_priority} < any(priorities) then
        raise exception '{text:priority}', -{rule:max_priority}, {rule:max_priority} using errcode = 'PW003';
    elsif 0 > any(delays_ms) or {rule:longest_delay_ms} < any(delays_ms) then
        raise exception 'delay_ms must be 0 to {rule:longest_delay_ms} (100 years)' using errcode = 'PW003';
    elsif '{rule:earliest_year}-01-01 00:00+00' > any(ats) or '{rule:latest_year}-01-01 00:00+00' < any(ats) then
        raise exception '{text:years}', 'at', {rule:earliest_year}, {rule:latest_year} using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_places is 'Internal: refuses priorities, delays and times out of bounds.';

-- What else belongs to new runs; arrays as trigger_batch() has them.
create or replace function {schema}.check_new_runs(
    workflows text[], inputs text[], max_attempts integer[], idempotency_keys text[], tag_places integer[],
    tags text[]
) returns void
language plpgsql immutable
as $$
begin
    if workflows is null or cardinality(workflows) is distinct from cardinality(inputs) then
        raise exception 'inputs must have as many elements as workflows' using errcode = 'PW003';
    elsif num_nulls(variadic inputs) > 0 then
        raise exception 'an input is null: pass the text ''null''' using errcode = 'PW003';
    elsif 1 > any(max_attempts) or {rule:max_attempts} < any(max_attempts) then
        raise exception 'max_attempts must be 1 to {rule:max_attempts}' using errcode = 'PW003';
    elsif num_nonnulls(variadic idempotency_keys) > 0 and exists (
        select from unnest(idempotency_keys) k where octet_length(k) not between 1 and {rule:max_key_bytes}
    ) then
        raise exception '{text:bytes_of_text}', 'an idempotency key', {rule:max_key_bytes} using errcode = 'PW003';
    elsif cardinality(tags) > 0 then
        if cardinality(tags) is distinct from cardinality(tag_places) or num_nulls(variadic tag_places) > 0
           or 1 > any(tag_places) or cardinality(workflows) < any(tag_places) then
            raise exception 'tag_places must name, for each of the tags, a run: 1 to %', cardinality(workflows)
                using errcode = 'PW003';
        elsif exists (select from unnest(tags) t where coalesce(octet_length(t), 0) not between 1 and {rule:max_tag_bytes}) then
            raise exception '{text:bytes_of_text}', 'a tag', {rule:max_tag_bytes} using errcode = 'PW003';
        elsif cardinality(tags) > {rule:max_tags} and exists (
            select from unnest(tag_places) p group by p having count(*) > {rule:max_tags}
        ) then
            raise exception '{text:tags}', {rule:max_tags} using errcode = 'PW003';
        end if;
    end if;
end
$$;
comment on function {schema}.check_new_runs is 'Internal: refuses what new runs cannot have.';

-- All that trigger_batch() refuses, but for unknown workflows.
create or replace function {schema}.check_trigger(
    workflows text[], inputs text[], priorities integer[], delays_ms bigint[], ats timestamptz[],
    idempotency_keys text[], max_attempts integer[], parent_run_ids bigint[], tag_places integer[], tags text[]
) returns void
language plpgsql stable
as $$
declare
    _ignored text;  -- see trigger_batch()
begin
    _ignored := {schema}.check_places(priorities, delays_ms, ats);
    _ignored := {schema}.check_new_runs(workflows, inputs, max_attempts, idempotency_keys, tag_places, tags);
    _ignored := {schema}.check_aligned(
        cardinality(workflows), cardinality(priorities), cardinality(delays_ms), cardinality(ats),
        cardinality(idempotency_keys), cardinality(max_attempts), cardinality(parent_run_ids));
    _ignored := {schema}.check_json('inputs', inputs);
end
$$;
comment on function {schema}.check_trigger is 'Internal: refuses runs that cannot be created.';
