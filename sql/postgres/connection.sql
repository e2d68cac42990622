-- The clock, wake-ups, and the state of a connection.

-- call: clock

-- name: notify(payload)
select pg_notify('pawl_{schema_name}', @payload::text)

-- name: probe()
select 'pawl: probe'

-- name: listen()
listen "pawl_{schema_name}"
