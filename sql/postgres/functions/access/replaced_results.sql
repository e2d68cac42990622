-- Results that were text and are json now: `create or replace` cannot change the type of a column. Objects of users
-- that depend on the old function keep it, under a name that ends with _text.
--
-- Earlier versions let SQL callers store text that is not JSON. It is converted to a JSON string here, because it is
-- cast to json now. This reads all rows once.
do $$
declare
    replaced text;
    name     text;
    kept     text[] := '{}';
    stored   record;
    bad      record;
begin
    if not exists (
        select from pg_attribute a
        where a.attrelid = to_regclass('{schema}.run_info') and a.attname = 'input' and a.atttypid = 'text'::regtype
    ) then
        return;
    end if;
    foreach replaced in array array[
        'function {schema}.list_runs(text, text, timestamptz, timestamptz, text, text, boolean, bigint, integer)',
        'function {schema}.get_run(bigint)', 'function {schema}.lineage(bigint)',
        'function {schema}.list_steps(bigint)', 'function {schema}.list_events(bigint)',
        'function {schema}.list_outbox(text, text, text, bigint, bigint, integer)',
        'function {schema}.list_schedules(text)', 'function {schema}.due_schedules(integer)',
        'function {schema}.run_history(bigint)', 'view {schema}.run_info'
    ] loop
        begin
            execute replace('drop ' || replaced, ' {schema}.', ' if exists {schema}.');
        exception when dependent_objects_still_exist then
            name := substring(replaced from '\.(\w+)');
            execute format('alter %s rename to %I', replaced, name || '_text');
            if replaced like 'function %' then
                kept := kept || replace(substr(replaced, 10), '.' || name, '.' || name || '_text');
            end if;
        end;
    end loop;
    foreach replaced in array kept loop  -- their bodies contain their own name and that of the view
        name := substring(replaced from '\.(\w+)_text');
        execute regexp_replace(
            regexp_replace(pg_get_functiondef(replaced::regprocedure), '\m' || name || '\.', name || '_text.', 'g'),
            '\mrun_info\M', 'run_info_text', 'g');
    end loop;

    for stored in
        select v.table_name, v.column_name
        from (values
            ('runs', 'input'), ('runs', 'output'), ('runs', 'error'), ('steps', 'input'), ('steps', 'output'),
            ('steps', 'error'), ('signals', 'payload'), ('events', 'data'), ('outbox', 'payload')
        ) v (table_name, column_name)
    loop
        begin
            execute format('select count(%I::json) from {schema}.%I', stored.column_name, stored.table_name);
        exception when others then
            for bad in
                execute format('select ctid as tid, %I as value from {schema}.%I', stored.column_name, stored.table_name)
            loop
                begin
                    perform bad.value::json;
                exception when others then
                    execute format('update {schema}.%I set %I = to_json($1)::text where ctid = $2',
                                   stored.table_name, stored.column_name) using bad.value, bad.tid;
                end;
            end loop;
        end;
    end loop;
end
$$;
