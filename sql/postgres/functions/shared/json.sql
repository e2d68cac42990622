-- JSON that arrives as text. The C++ store checks it before sending; other callers may not. Everything stored must be
-- valid JSON, because it is later cast to json or embedded in other JSON, where the caller cannot fix it.

-- Raises if the text is not JSON. Long texts are parsed with some levels of nesting to spare: text nested up to the
-- limit would fail later, inside another document. The planner inlines it into the caller's expression.
create or replace function {schema}.require_json(value text) returns json
language sql immutable
as $$
    select case when octet_length(value) > 4000 then (repeat('[', 1000) || value || repeat(']', 1000))::json
                else value::json end
$$;
comment on function {schema}.require_json is 'Internal: raises if a text is not JSON.';

-- Whether all texts are JSON or null. Needs no query if they are short.
create or replace function {schema}.are_json(a text[], b text[] default null, c text[] default null) returns boolean
language plpgsql immutable
as $$
declare
    parsed json[];
begin
    parsed := a::json[];
    if b is not null or c is not null then
        parsed := b::json[];
        parsed := c::json[];
    end if;
    -- A text of up to 1000 characters has up to 4000 bytes. Most batches are shorter as a whole.
    if greatest(pg_column_size(a), pg_column_size(b), pg_column_size(c)) > 4000
       and (pg_column_size(a::varchar(1000)[]) < pg_column_size(a) or pg_column_size(b::varchar(1000)[]) < pg_column_size(b)
            or pg_column_size(c::varchar(1000)[]) < pg_column_size(c)) then
        perform count({schema}.require_json(u)) from unnest(a || b || c) u where octet_length(u) > 4000;
    end if;
    return true;
exception when others then
    return false;
end
$$;
comment on function {schema}.are_json is 'Internal: whether all texts are JSON.';

-- For each text the reason why it is not JSON; null if all are JSON.
create or replace function {schema}.json_errors(texts text[]) returns text[]
language plpgsql immutable
as $$
declare
    errors text[];
begin
    if {schema}.are_json(texts) then
        return null;
    end if;
    errors := array_fill(null::text, array[cardinality(texts)]);
    for i in 1..cardinality(texts) loop
        begin
            perform {schema}.require_json(texts[i]);
        exception when others then
            errors[i] := sqlerrm;
        end;
    end loop;
    return errors;
end
$$;
comment on function {schema}.json_errors is 'Internal: for each text the reason why it is not JSON.';

-- For functions that accept all items or none.
create or replace function {schema}.check_json(what text, texts text[]) returns void
language plpgsql immutable
as $$
declare
    errors text[] := {schema}.json_errors(texts);
begin
    for i in 1..coalesce(cardinality(errors), 0) loop
        if errors[i] is not null then
            raise exception '%[%] is not JSON: %', what, i, errors[i]
                using errcode = 'PW003', hint = 'Pass what a JSON library has written.';
        end if;
    end loop;
end
$$;
comment on function {schema}.check_json is 'Internal: raises if one of the texts is not JSON.';

-- Returns JSON text unchanged, and any other text or null as a JSON string.
create or replace function {schema}.as_json(value text) returns text
language sql immutable
as $$
    select case when {schema}.json_errors(array[coalesce(value, '')]) is null then value
                else to_json(coalesce(value, ''))::text end
$$;
comment on function {schema}.as_json is 'Internal: converts a text to valid JSON.';

-- A member of an object as text. Null if it is missing, or if the server cannot extract it: \u0000 is valid JSON but
-- not valid text.
create or replace function {schema}.json_member(value text, name text) returns text
language plpgsql immutable
as $$
begin
    return value::json ->> name;
exception when others then
    return null;
end
$$;
comment on function {schema}.json_member is 'Internal: a member of a JSON object as text, or null.';

-- The message of an error that a worker reported; the whole text if it does not have the format of docs/errors.md.
create or replace function {schema}.error_message(error text) returns text
language plpgsql immutable
as $$
begin
    return coalesce(error::json ->> 'message', error, '');
exception when others then
    return error;
end
$$;
comment on function {schema}.error_message is 'Internal: the message of a reported error.';
