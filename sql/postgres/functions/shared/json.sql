-- JSON that comes in as text. The C++ store has checked what it sends; other callers may not have. All that is stored is
-- JSON: it is cast to json later, and becomes part of other JSON, by somebody who can do nothing about it.

-- Raises if the text is not JSON. Long texts are parsed with room for more levels: what is nested to the limit would
-- fail later, within something else. It is expanded into the caller's expression.
create or replace function {schema}.json_proof(value text) returns json
language sql immutable
as $$
    select case when octet_length(value) > 4000 then (repeat('[', 1000) || value || repeat(']', 1000))::json
                else value::json end
$$;
comment on function {schema}.json_proof is 'Internal: raises if a text is not JSON.';

-- Whether all of these are JSON, or null. That takes no query if they are short.
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
    -- A text of up to 1000 characters has up to 4000 bytes.
    if (pg_column_size(a::varchar(1000)[]) < pg_column_size(a) or pg_column_size(b::varchar(1000)[]) < pg_column_size(b)
        or pg_column_size(c::varchar(1000)[]) < pg_column_size(c)) then
        perform count({schema}.json_proof(u)) from unnest(a || b || c) u where octet_length(u) > 4000;
    end if;
    return true;
exception when others then
    return false;
end
$$;
comment on function {schema}.are_json is 'Internal: whether all of these texts are JSON.';

-- Aligned with the texts: why each is not JSON. Null if all are.
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
            perform {schema}.json_proof(texts[i]);
        exception when others then
            errors[i] := sqlerrm;
        end;
    end loop;
    return errors;
end
$$;
comment on function {schema}.json_errors is 'Internal: which of these texts are no JSON, and why.';

-- For all or nothing: refuses the batch.
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
comment on function {schema}.check_json is 'Internal: refuses texts that are no JSON.';

-- A JSON text as it is; any other one, and none, as a JSON string.
create or replace function {schema}.as_json(value text) returns text
language sql immutable
as $$
    select case when {schema}.json_errors(array[coalesce(value, '')]) is null then value
                else to_json(coalesce(value, ''))::text end
$$;
comment on function {schema}.as_json is 'Internal: a text that is JSON in any case.';

-- A member of an object as text. Null if there is none, and if the server cannot take the JSON apart: \u0000 is JSON,
-- and no text.
create or replace function {schema}.json_member(value text, name text) returns text
language plpgsql immutable
as $$
begin
    return value::json ->> name;
exception when others then
    return null;
end
$$;
comment on function {schema}.json_member is 'Internal: a member of a JSON object, if the server can read it.';

-- The message of an error that a worker has given; all of it where it is not what docs/errors.md asks for.
create or replace function {schema}.error_message(error text) returns text
language plpgsql immutable
as $$
begin
    return coalesce(error::json ->> 'message', error, '');
exception when others then
    return error;
end
$$;
comment on function {schema}.error_message is 'Internal: what an error says.';
