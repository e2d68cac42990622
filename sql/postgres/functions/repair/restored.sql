-- After a restore of an older backup. Workers from before it may hold messages and runs that the store has forgotten, or
-- whose numbers it would give again. Every number that is given from now on is beyond all that were given before, and
-- every live delivery is beyond the one that such a holder can name: the fence holds, for workers in SQL too.
create or replace function {schema}.restored() returns bigint
language plpgsql
as $$
declare
    ids_ahead        constant bigint := {rule:raised_ids};
    deliveries_ahead constant integer := {rule:raised_deliveries};
    live             bigint;
begin
    perform setval(c.oid::regclass, coalesce(pg_sequence_last_value(c.oid), 0) + ids_ahead)
    from pg_class c
    where c.relnamespace = '{schema}'::regnamespace and c.relkind = 'S';
    update {schema}.messages set delivery = delivery + deliveries_ahead;
    get diagnostics live = row_count;
    update {schema}.tasks set delivery = delivery + deliveries_ahead where status = 'RUNNING';
    update {schema}.outbox set delivery = delivery + deliveries_ahead where status = 'PENDING';
    update {schema}.schedules set version = version + ids_ahead;
    return live;
end
$$;
comment on function {schema}.restored is
    'After a restore of a backup, before workers start: fences every holder from before it. Returns the live messages.';
