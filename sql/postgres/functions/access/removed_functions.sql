-- Helpers of earlier versions: renamed, removed, or with other parameters or results now, which `create or replace` does
-- not change. Only functions that are marked as ours (`Internal: `) are dropped, before the files that define them anew. A
-- helper that something of a user depends on stays.
do $$
declare
    removed regprocedure;
begin
    for removed in
        select p.oid from pg_proc p
        where p.pronamespace = '{schema}'::regnamespace and obj_description(p.oid, 'pg_proc') like 'Internal: %'
          and p.proname in ('claim_queues')
    loop
        begin
            execute format('drop function %s', removed);
        exception when dependent_objects_still_exist then
            null;
        end;
    end loop;
end
$$;
