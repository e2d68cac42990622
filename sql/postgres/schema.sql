-- Statements of install() and verify().

-- name: schema_exists(table_name)
select to_regclass(@table_name::text) is not null

-- name: schema_version()
select version, functions from {schema}.schema_version order by version desc limit 1

-- name: record_version(version, migration, functions)
insert into {schema}.schema_version (version, name, functions, installed_at)
values (@version::integer, @migration::text, @functions::text, {schema}.clock())

-- name: record_functions(functions)
update {schema}.schema_version set functions = @functions::text
where version = (select max(version) from {schema}.schema_version)

-- name: install_lock(key)
select pg_advisory_xact_lock(hashtextextended(@key::text, 0))

-- name: catalogue(schema)
select 'table' as kind, c.relname::text as name,
       md5(string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull, ',' order by a.attname)) as definition
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = @schema::text::regnamespace and c.relkind = 'r'
group by c.relname
union all
select 'index', c.relname::text, md5(pg_get_indexdef(c.oid) || i.indisvalid)
from pg_class c join pg_index i on i.indexrelid = c.oid
where c.relnamespace = @schema::text::regnamespace
union all
select 'constraint', r.conname::text, md5(pg_get_constraintdef(r.oid))
from pg_constraint r
where r.connamespace = @schema::text::regnamespace
union all
select 'function', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', md5(pg_get_functiondef(p.oid))
from pg_proc p
where p.pronamespace = @schema::text::regnamespace

-- Schemas that look like ours and that we may read: other programs have tables called schema_version too.
-- The version is read by a statement for each, since a table's name cannot be a parameter.
-- name: tenants()
select n.nspname::text,
       (xpath('//version/text()', query_to_xml(
           format('select max(version) as version from %I.schema_version', n.nspname), true, false, '')))[1]::text::integer
from pg_namespace n
join pg_class v on v.relnamespace = n.oid and v.relname = 'schema_version' and v.relkind = 'r'
where has_schema_privilege(n.oid, 'usage') and has_table_privilege(v.oid, 'select')
  and array['version', 'name', 'functions', 'installed_at'] <@ (
      select array_agg(a.attname::text) from pg_attribute a where a.attrelid = v.oid and a.attnum > 0)
  and exists (
      select from pg_class m where m.relnamespace = n.oid and m.relname = 'schema_manifest' and m.relkind = 'r')
order by n.nspname

-- Those that look like ours and that we may not read.
-- name: unreadable_tenants()
select coalesce(string_agg(n.nspname::text, ', ' order by n.nspname), ''), current_user::text
from pg_namespace n
join pg_class v on v.relnamespace = n.oid and v.relname = 'schema_version' and v.relkind = 'r'
join pg_class m on m.relnamespace = n.oid and m.relname = 'schema_manifest' and m.relkind = 'r'
where not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(v.oid, 'select'))

-- name: clear_manifest()
delete from {schema}.schema_manifest

-- name: record_manifest(kinds, names, definitions)
insert into {schema}.schema_manifest (kind, name, definition)
select * from unnest(@kinds::text[], @names::text[], @definitions::text[])

-- name: manifest()
select kind, name, definition from {schema}.schema_manifest

-- By the catalogue, which needs no right on the schema.
-- name: clock_is_real(schema)
select p.prosrc = ' select clock_timestamp() '
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = @schema::text and p.proname = 'clock' and p.pronargs = 0
