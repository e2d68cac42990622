-- The schema's own records, and the clock.

-- name: schema_exists()
select count(*) from sqlite_master where type = 'table' and name = 'pawl_schema_version';

-- name: schema_version()
select coalesce(max(version), 0) from pawl_schema_version;

-- name: record_migration(version, name, installed_at)
insert into pawl_schema_version (version, name, installed_at) values (@version, @name, @installed_at);

-- Changes nothing; only the lock stays.
-- name: take_write_lock()
update pawl_schema_version set version = version where false;

-- name: table_exists(name)
select count(*) from sqlite_master where type = 'table' and name = @name;

-- What is in the file: kind, name, the table it belongs to, its definition, and the statements that create it again.
-- Automatic indexes have no definition: their table has it.
-- name: catalogue()
select 'table', s.name, s.name, s.sql, ''
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

-- After a restore of an older backup: the story is told in sql/postgres/functions/repair/restored.sql.
-- Tables without a row yet have no sequence yet.
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
