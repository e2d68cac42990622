-- The test kit's clock: see include/pawl/testing.h. The function is replaced once; then the row moves.

-- By the key: within functions that forbid sequential scans one would look so dear that it is compiled
-- (JIT) at every call.
-- name: replace_clock()
create or replace function {schema}.clock() returns timestamptz
language sql volatile
as $$ select fixed_at from {schema}.test_clock where id = 1 $$

-- name: set_clock(fixed_at)
insert into {schema}.test_clock (id, fixed_at) values (1, @fixed_at::timestamptz)
on conflict (id) do update set fixed_at = excluded.fixed_at

-- name: restore_clock()
create or replace function {schema}.clock() returns timestamptz
language sql volatile
as $$ select clock_timestamp() $$

-- name: clear_clock()
delete from {schema}.test_clock
