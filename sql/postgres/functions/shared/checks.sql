-- Arguments that can never be valid are refused with pawl's own messages, before a constraint of a table refuses them.
-- An array is checked as a whole, so a valid batch costs one check per array. Nulls pass, except for required values.
-- The bounds are in src/model/rules.h, the same as for C++.

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
comment on function {schema}.check_range is 'Internal: raises if a number is out of bounds.';

create or replace function {schema}.check_given(what text, is_null boolean) returns void
language plpgsql immutable
as $$
begin
    if is_null then
        raise exception '% must not be null', what using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_given is 'Internal: raises if a required value is null.';

create or replace function {schema}.check_text(what text, value text, longest integer) returns void
language plpgsql immutable
as $$
begin
    if value is null or octet_length(value) not between 1 and longest then
        raise exception '{text:bytes_of_text}', what, longest using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_text is 'Internal: raises if a text is null, empty or too long.';

create or replace function {schema}.check_time(what text, value timestamptz) returns void
language plpgsql stable
as $$
begin
    if value not between '{rule:earliest_year}-01-01 00:00+00' and '{rule:latest_year}-01-01 00:00+00' then
        raise exception '{text:years}', what, {rule:earliest_year}, {rule:latest_year} using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_time is 'Internal: raises if a time is outside the range that every store can hold.';

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
comment on function {schema}.page_size is 'Internal: the number of rows of a page; raises if it is out of bounds.';

create or replace function {schema}.check_aligned(items integer, variadic lengths integer[]) returns void
language plpgsql immutable
as $$
begin
    if items < any(lengths) then
        raise exception 'an array has more elements than the batch has items (%)', items
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_aligned is 'Internal: raises if an array is longer than the batch.';

-- Called only if may_claim() is false: finds the argument that is out of bounds.
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
comment on function {schema}.refuse_claim is 'Internal: raises for the argument of a claim that is out of bounds.';

-- Whether the arguments of a claim are within their bounds. The planner inlines it into the caller's expression.
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
comment on function {schema}.may_claim is 'Internal: whether the arguments of a claim are within their bounds.';

create or replace function {schema}.longest_ms() returns bigint
language sql immutable
as $$ select {rule:longest_delay_ms} $$;
comment on function {schema}.longest_ms is 'Internal: the longest delay, lease or timeout, in milliseconds.';

create or replace function {schema}.check_word(what text, word text, words text[]) returns void
language plpgsql immutable
as $$
begin
    if word <> all(words) then
        raise exception '%: unknown value ''%''; use %', what, word, array_to_string(words, ', ')
            using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_word is 'Internal: raises if a word is not one of the known words.';

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
comment on function {schema}.check_places is 'Internal: raises if a priority, delay or time is out of bounds.';

-- Checks the other arguments of new runs; the arrays are those of trigger_batch().
create or replace function {schema}.check_new_runs(
    workflows text[], inputs text[], max_attempts integer[], idempotency_keys text[], tag_places integer[],
    tags text[]
) returns void
language plpgsql immutable
as $$
begin
    if workflows is null or cardinality(workflows) is distinct from cardinality(inputs) then
        raise exception 'inputs and workflows must have the same number of elements' using errcode = 'PW003';
    elsif num_nulls(variadic inputs) > 0 then
        raise exception 'an input is null; pass the text ''null''' using errcode = 'PW003';
    elsif 1 > any(max_attempts) or {rule:max_attempts} < any(max_attempts) then
        raise exception 'max_attempts must be 1 to {rule:max_attempts}' using errcode = 'PW003';
    elsif num_nonnulls(variadic idempotency_keys) > 0 and exists (
        select from unnest(idempotency_keys) k where octet_length(k) not between 1 and {rule:max_key_bytes}
    ) then
        raise exception '{text:bytes_of_text}', 'an idempotency key', {rule:max_key_bytes} using errcode = 'PW003';
    elsif cardinality(tags) > 0 then
        if cardinality(tags) is distinct from cardinality(tag_places) or num_nulls(variadic tag_places) > 0
           or 1 > any(tag_places) or cardinality(workflows) < any(tag_places) then
            raise exception 'tag_places must have one element, 1 to %, for each element of tags', cardinality(workflows)
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
comment on function {schema}.check_new_runs is 'Internal: raises if an argument of new runs is invalid.';

-- All checks of trigger_batch() except the one for unknown workflows.
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
comment on function {schema}.check_trigger is 'Internal: raises if an argument of trigger_batch() is invalid.';
