-- The first file: remembers, for the last one, who may call what. A function whose signature changes is dropped
-- and made anew, and would leave the roles that may call it behind.
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
