-- JSON that comes in as text. The C++ store has checked what it sends; other callers may not have, and what is
-- cast to json later must not fail then, in the hands of somebody else.

-- Aligned with the texts: why one is no JSON; null where all are. A batch without fault costs one look.
-- Long ones also with room for more levels: nested to the limit, one would fail later, within something else.
create or replace function {schema}.json_errors(texts text[]) returns text[]
language plpgsql immutable
as $$
declare
    errors text[];
begin
    begin
        perform count(u::json),
                count(case when octet_length(u) > 4000 then (repeat('[', 1000) || u || repeat(']', 1000))::json end)
        from unnest(texts) u;
        return null;
    exception when others then
        errors := array_fill(null::text, array[cardinality(texts)]);
    end;
    for i in 1..cardinality(texts) loop
        begin
            perform texts[i]::json, (repeat('[', 1000) || texts[i] || repeat(']', 1000))::json;
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
