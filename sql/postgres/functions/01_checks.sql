-- Values that can never work are refused in words of our own, with the bounds of src/model/check.cpp, before a
-- constraint of a table does it in its words. Arrays are looked at as a whole: a batch without fault costs one look
-- at each. Nulls pass.

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

-- 100 years, as src/model/check.cpp has it.
create or replace function {schema}.longest_ms() returns bigint
language sql immutable
as $$ select 3162240000000 $$;
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
    if -1000000 > any(priorities) or 1000000 < any(priorities) then
        raise exception 'priority must be -1000000 to 1000000' using errcode = 'PW003';
    elsif 0 > any(delays_ms) or 3162240000000 < any(delays_ms) then
        raise exception 'delay_ms must be 0 to 3162240000000 (100 years)' using errcode = 'PW003';
    elsif '1970-01-01 00:00+00' > any(ats) or '9999-01-01 00:00+00' < any(ats) then
        raise exception 'at must lie between the years 1970 and 9999' using errcode = 'PW003';
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
    if cardinality(workflows) is distinct from cardinality(inputs) then
        raise exception 'inputs must have as many elements as workflows' using errcode = 'PW003';
    elsif num_nulls(variadic inputs) > 0 then
        raise exception 'an input is null: pass the text ''null''' using errcode = 'PW003';
    elsif 1 > any(max_attempts) or 1000000 < any(max_attempts) then
        raise exception 'max_attempts must be 1 to 1000000' using errcode = 'PW003';
    elsif num_nonnulls(variadic idempotency_keys) > 0 and exists (
        select from unnest(idempotency_keys) k where octet_length(k) not between 1 and 512
    ) then
        raise exception 'an idempotency key must have 1 to 512 bytes' using errcode = 'PW003';
    elsif cardinality(tags) > 0 then
        if cardinality(tags) is distinct from cardinality(tag_places) or num_nulls(variadic tag_places) > 0
           or 1 > any(tag_places) or cardinality(workflows) < any(tag_places) then
            raise exception 'tag_places must name, for each of the tags, a run: 1 to %', cardinality(workflows)
                using errcode = 'PW003';
        elsif exists (select from unnest(tags) t where coalesce(octet_length(t), 0) not between 1 and 255) then
            raise exception 'a tag must have 1 to 255 bytes' using errcode = 'PW003';
        end if;
    end if;
end
$$;
comment on function {schema}.check_new_runs is 'Internal: refuses what new runs cannot have.';
