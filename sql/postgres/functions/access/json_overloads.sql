-- Functions that take JSON accept json, jsonb and text, so that literals, typed parameters, columns and
-- jsonb_build_object(...) all match an overload. The server resolves an untyped literal to the text overload; without
-- one, two overloads would be ambiguous. Only the original function has a default for its JSON argument: defaults in
-- all three would make a call without it ambiguous.
--
-- The planner inlines an overload into the caller's statement. It costs the cast, which fails with the same error as
-- a json argument (22P02).

do $$
declare
    f record;
begin
    for f in
        with originals as (
            -- All functions that take json, except those that have an original that takes text.
            select p.oid, array_agg(n.name) as names, array['jsonb', 'text'] as types
            from {schema}.function_access() a
            join pg_proc p on p.oid = a.signature
            cross join lateral unnest(p.proargnames, p.proargtypes::oid[]) as n (name, type)
            where a.access <> 'owner' and n.type = 'json'::regtype
              and p.proname not in ('finish_run', 'trigger_one', 'save_schedule', 'record_step')
            group by p.oid
            union all
            select v.original::regprocedure, array[v.name], array['json', 'jsonb']
            from (values
                ('{schema}.finish_run(bigint, integer, text, boolean, boolean)', 'output'),
                ('{schema}.trigger_one(text, text, integer, integer, bigint, boolean)', 'input'),
                ('{schema}.save_schedule(bigint, bigint, text, text, text, text, text, timestamptz, timestamptz, '
                 'bigint, integer, text, text, integer, boolean, timestamptz, timestamptz)', 'params')
            ) v (original, name)
        )
        select p.proname as name, pg_get_function_result(p.oid) as result, a.declared, a.types,
               obj_description(p.oid, 'pg_proc') as words,
               format(case when p.proretset or p.prorettype = 'record'::regtype then ' select * from {schema}.%I(%s) '
                           else ' select {schema}.%I(%s) ' end, p.proname, a.passed) as body
        from originals o
        join pg_proc p on p.oid = o.oid
        cross join lateral unnest(o.types) as t (given)
        cross join lateral (
            select string_agg(concat(
                       case when n.mode = 'o' then 'out ' end, quote_ident(n.name), ' ',
                       case when n.name = any(o.names) then t.given else n.type::text end,
                       ' default ' || case when n.name <> all(o.names)
                                           then pg_get_function_arg_default(p.oid, n.place::integer) end
                   ), ', ' order by n.place) as declared,
                   string_agg(case when n.name = any(o.names) then t.given else n.type::text end, ', ' order by n.place)
                       filter (where n.mode = 'i') as types,
                   string_agg(concat('$', n.place, case when n.name = any(o.names) then '::pg_catalog.' || n.type end),
                              ', ' order by n.place) filter (where n.mode = 'i') as passed
            from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[])::regtype[],
                        coalesce(p.proargmodes, array_fill('i'::"char", array[p.pronargs::integer]))) with ordinality
                as n (name, type, mode, place)
        ) a
        union all
        -- Three JSON arguments, of which callers usually pass one by name.
        select 'record_step', 'text',
               'run_id bigint, delivery integer, step_id text, step_position integer, status text, attempt integer, '
               || replace(v.declared, 'JSON', t.given)
               || ', wake_at timestamptz default null, elapsed_us bigint default null, repeated boolean default false',
               'bigint, integer, text, integer, text, integer, ' || replace(v.types, 'JSON', t.given)
               || ', timestamptz, bigint, boolean',
               'Records one step of a run in hand, as the function that takes text.',
               format(' select {schema}.record_step($1, $2, $3, $4, $5, $6, %s) ', v.passed)
        from unnest(array['json', 'jsonb']) as t (given)
        cross join (values
            ('input JSON, output JSON default null, error JSON default null', 'JSON, JSON, JSON',
             '$7::text, $8::text, $9::text, $10, $11, $12'),
            ('output JSON, error JSON default null', 'JSON, JSON', 'null::text, $7::text, $8::text, $9, $10, $11'),
            ('error JSON', 'JSON', 'null::text, null::text, $7::text, $8, $9, $10')
        ) v (declared, types, passed)
    loop
        execute format('create or replace function {schema}.%I(%s) returns %s language sql as %L',
                       f.name, f.declared, f.result, f.body);
        execute format('comment on function {schema}.%I(%s) is %L', f.name, f.types, f.words);
    end loop;
end
$$;

-- An array has no overloads, because the literal '{}' would be ambiguous.
create or replace function {schema}.enqueue_batch_jsonb(
    queue_name text,
    payloads   jsonb[],
    priorities integer[] default null,
    delays_ms  bigint[] default null,
    ats        timestamptz[] default null,
    wake       boolean default true
) returns bigint[]
language sql
as $$ select {schema}.enqueue_batch($1, $2::json[], $3, $4, $5, $6) $$;
comment on function {schema}.enqueue_batch_jsonb is 'Like enqueue_batch(), with payloads as jsonb.';

create or replace function {schema}.start_flows_jsonb(
    flow_slugs       text[],
    inputs           jsonb[],
    priorities       integer[] default null,
    delays_ms        bigint[] default null,
    ats              timestamptz[] default null,
    idempotency_keys text[] default null,
    max_attempts     integer[] default null,
    parent_run_ids   bigint[] default null,
    tag_places       integer[] default null,
    tags             text[] default null
) returns setof {schema}.flow_runs
language sql
as $$ select * from {schema}.start_flows($1, $2::json[], $3, $4, $5, $6, $7, $8, $9, $10) $$;
comment on function {schema}.start_flows_jsonb is 'Like start_flows(), with inputs as jsonb.';
