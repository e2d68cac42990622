-- After the restore of an older backup, workers from before may hold messages and runs that the store does not know, or
-- whose ids it would use again. All ids from now on are greater than any id used before, and every live delivery is
-- greater than any that such a holder can name: so the fence holds, for workers in SQL too.
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
    'Call it after restoring a backup, before workers start: fences all earlier holders. Returns the number of live messages.';
