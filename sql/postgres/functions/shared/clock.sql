-- The clock. Each function reads it once. Tests replace it through the test kit.

create or replace function {schema}.clock() returns timestamptz
language sql volatile
as $$ select clock_timestamp() $$;
comment on function {schema}.clock() is 'The current time of the database. All stored times, leases and delays use it.';

create or replace function {schema}.ms(milliseconds bigint) returns interval
language sql immutable
as $$ select milliseconds * interval '1 millisecond' $$;
comment on function {schema}.ms is 'Internal: converts milliseconds to an interval.';

-- A message whose lease or delay has ended is ready, even if its row has another state.
create or replace function {schema}.message_state(state text, visible_at timestamptz, at timestamptz)
returns text
language sql immutable
as $$ select case when visible_at <= at then 'ready' else state end $$;
comment on function {schema}.message_state is 'Internal: the state of a message at a given time.';
