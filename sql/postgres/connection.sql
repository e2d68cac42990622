-- The clock, wake-ups, and the state of a connection.

-- call: clock

-- name: notify(payload)
select pg_notify('pawl_{schema_name}', @payload::text)

-- name: probe()
select 'pawl: is anybody there'

-- name: listen()
listen "pawl_{schema_name}"
