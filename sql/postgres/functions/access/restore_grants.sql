-- Runs last: restores the grants of roles, and grants nothing to PUBLIC.

revoke all on all functions in schema {schema} from public;

-- The grants saved by access/remember_grants.sql, matched by function name: a new signature or overload gets the same
-- grants.
do $$
declare
    missing record;
begin
    for missing in
        select f.signature, r.oid::regrole as role
        from json_to_recordset(current_setting('pawl.granted')::json) as g (function name, role bigint)
        join pg_proc p on p.proname = g.function
        join {schema}.function_access() f on f.signature = p.oid and f.access <> 'owner'
        join pg_roles r on r.oid = g.role
        where not exists (select from aclexplode(p.proacl) a where a.grantee = r.oid)
    loop
        execute format('grant execute on function %s to %s', missing.signature, missing.role);
    end loop;
end
$$;

-- An upgrade may add relations that every access level may read: roles with an access level get them too.
do $$
declare
    granted record;
begin
    for granted in
        select distinct a.grantee::regrole as role
        from pg_class c cross join lateral aclexplode(c.relacl) a
        where c.oid = '{schema}.queues'::regclass and a.grantee not in (0, c.relowner)
    loop
        execute format(
            'grant select on %s to %s', array_to_string({schema}.readable_relations(), ', '), granted.role);
    end loop;
end
$$;
