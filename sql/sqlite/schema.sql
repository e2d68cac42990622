-- The schema's own records, and the clock.

-- name: schema_exists()
select count(*) from sqlite_master where type = 'table' and name = 'pawl_schema_version';

-- name: schema_version()
select coalesce(max(version), 0) from pawl_schema_version;

-- name: record_migration(version, name, installed_at)
insert into pawl_schema_version (version, name, installed_at) values (@version, @name, @installed_at);

-- name: clear_manifest()
delete from pawl_schema_manifest;

-- Automatic indexes have no definition: their table's says it all.
-- name: write_manifest()
insert into pawl_schema_manifest (kind, name, definition)
select s.type, s.name, s.sql
from sqlite_master s
where s.name like 'pawl\_%' escape '\' and s.sql is not null;

-- Changes nothing; only the lock stays.
-- name: take_write_lock()
update pawl_schema_version set version = version where false;

-- name: table_exists(name)
select count(*) from sqlite_master where type = 'table' and name = @name;

-- name: manifest_problems()
select m.kind, m.name, case when s.name is null then 'missing' else 'different' end
from pawl_schema_manifest m
left join sqlite_master s on s.type = m.kind and s.name = m.name
where s.sql is not m.definition
order by m.kind desc, m.name;

-- name: fixed_clock()
select fixed_at from pawl_clock limit 1;

-- name: clear_clock()
delete from pawl_clock;

-- name: fix_clock(fixed_at)
insert into pawl_clock (fixed_at) values (@fixed_at);
