-- Runs first: saves which roles may call which functions, for restore_grants.sql. A function whose signature changes is
-- dropped and created again, which would lose its grants.
do $$
begin
    perform set_config('pawl.granted', coalesce(json_agg(g)::text, '[]'), true)
    from (
        select distinct p.proname as function, a.grantee::bigint as role
        from pg_proc p cross join lateral aclexplode(p.proacl) a
        where p.pronamespace = '{schema}'::regnamespace and a.grantee not in (0, p.proowner)
    ) g;
end
$$;
