-- Time. Every function reads it once; tests replace it through the test kit.

create or replace function {schema}.clock() returns timestamptz
language sql volatile
as $$ select clock_timestamp() $$;
comment on function {schema}.clock() is 'The database''s clock: what decides everything durable.';

create or replace function {schema}.ms(milliseconds bigint) returns interval
language sql immutable
as $$ select milliseconds * interval '1 millisecond' $$;
comment on function {schema}.ms is 'Internal: milliseconds as an interval.';

-- A lease or delay that has ended counts as ready, whatever the row still says.
create or replace function {schema}.message_state(state text, visible_at timestamptz, at timestamptz)
returns text
language sql immutable
as $$ select case when visible_at <= at then 'ready' else state end $$;
comment on function {schema}.message_state is 'Internal: the state of a message at a time.';
