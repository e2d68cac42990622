-- The clock of the test kit: see include/pawl/testing.h. The function is replaced once; afterwards only the row
-- changes.

-- Reads the row by its key: in functions that disable sequential scans, a scan of the table would have such a high cost
-- that the server would JIT-compile it in each call.
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
