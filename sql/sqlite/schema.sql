-- The records of the schema, and the clock.

-- name: schema_exists()
select count(*) from sqlite_master where type = 'table' and name = 'pawl_schema_version';

-- name: schema_version()
select coalesce(max(version), 0) from pawl_schema_version;

-- name: record_migration(version, name, installed_at)
insert into pawl_schema_version (version, name, installed_at) values (@version, @name, @installed_at);

-- Changes no row, but takes the write lock.
-- name: take_write_lock()
update pawl_schema_version set version = version where false;

-- name: table_exists(name)
select count(*) from sqlite_master where type = 'table' and name = @name;

-- The objects in the file: kind, name, table, definition, and the statements that create the object again. Automatic
-- indexes have no definition; their table has it.
-- name: catalogue() -> catalogue
select 'table' as kind, s.name, s.name as table_name, s.sql as definition, '' as restore
from sqlite_master s
where s.type = 'table' and s.name like 'pawl\_%' escape '\'
union all
select 'column', s.name || '.' || c.name, s.name,
       lower(c.type) || iif(c."notnull", ' not null', '') || iif(c.pk > 0, ' primary key', '')
           || coalesce(' default ' || c.dflt_value, ''),
       ''
from sqlite_master s join pragma_table_xinfo(s.name) c
where s.type = 'table' and s.name like 'pawl\_%' escape '\'
union all
select s.type, s.name, iif(s.type = 'view', '', s.tbl_name), s.sql,
       'drop ' || s.type || ' if exists "' || s.name || '"; ' || s.sql
from sqlite_master s
where s.type <> 'table' and s.name like 'pawl\_%' escape '\' and s.sql is not null;

-- name: fixed_clock()
select fixed_at from pawl_clock limit 1;

-- name: clear_clock()
delete from pawl_clock;

-- name: fix_clock(fixed_at)
insert into pawl_clock (fixed_at) values (@fixed_at);

-- After the restore of an older backup: sql/postgres/functions/repair/restored.sql explains it. A table that never had
-- a row has no sequence yet.
-- name: create_sequences()
insert into sqlite_sequence (name, seq)
select s.name, 0 from sqlite_master s
where s.type = 'table' and s.name like 'pawl\_%' escape '\' and s.sql like '%autoincrement%'
  and not exists (select 1 from sqlite_sequence q where q.name = s.name);

-- name: move_ids_ahead()
update sqlite_sequence set seq = seq + {rule:raised_ids} where name like 'pawl\_%' escape '\';

-- name: fence_messages()
update pawl_messages set delivery = delivery + {rule:raised_deliveries};

-- name: fence_tasks()
update pawl_tasks set delivery = delivery + {rule:raised_deliveries} where status = 'RUNNING';

-- name: fence_outbox()
update pawl_outbox set delivery = delivery + {rule:raised_deliveries} where status = 'PENDING';

-- name: fence_schedules()
update pawl_schedules set version = version + {rule:raised_ids};

-- Scripts for sqlite3 (pawl install --sql). {from_version}, {version} and {migration} are replaced when a script is
-- printed. The check stops the script if another version is installed.
-- name: script_begin()
begin immediate;
create temp table pawl_guard (
    "this script fits the installed version" integer not null
        constraint "this script is for schema version {from_version}"
        check ("this script fits the installed version")
);

-- name: script_check_empty()
insert into pawl_guard select count(*) = 0 from sqlite_master where name = 'pawl_schema_version';

-- name: script_check_version()
insert into pawl_guard select coalesce(max(version), 0) = {from_version} from pawl_schema_version;

-- name: script_record_version()
insert into pawl_schema_version (version, name, installed_at)
values ({version}, '{migration}', strftime('%s', 'now') * 1000000);
