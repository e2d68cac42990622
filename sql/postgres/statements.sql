-- What the C++ store sends: calls of the schema's functions, and reads of its tables.

-- name: clock()
select {schema}.clock()

-- name: enqueue_batch(queue, payloads, priorities, delays_ms, ats, wake)
select {schema}.enqueue_batch(@queue::text, @payloads::json[], @priorities::integer[], @delays_ms::bigint[], @ats::timestamptz[], @wake::boolean), {schema}.queue_id(@queue::text)

-- name: claim(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at)
select * from {schema}.claim(@queue_ids::bigint[], @qty::integer, @lease_ms::bigint, @worker_id::bigint, @default_lease_ms::bigint, @after_queue::bigint, @floor_priority::integer, @floor_message::bigint, @looked_at::timestamptz, @swept_at::timestamptz)

-- name: archive(message_ids, deliveries, repeated)
select {schema}.archive(@message_ids::bigint[], @deliveries::integer[], @repeated::boolean)

-- name: remove(message_ids, deliveries, repeated)
select {schema}.delete(@message_ids::bigint[], @deliveries::integer[], @repeated::boolean)

-- name: release(message_ids, deliveries, repeated, delays_ms)
select {schema}.release(@message_ids::bigint[], @deliveries::integer[], @delays_ms::bigint[], @repeated::boolean)

-- name: hand_back(message_ids, deliveries, repeated)
select {schema}.hand_back(@message_ids::bigint[], @deliveries::integer[], @repeated::boolean)

-- name: fail(message_ids, deliveries, repeated, delays_ms, reasons)
select {schema}.fail(@message_ids::bigint[], @deliveries::integer[], @reasons::text[], @delays_ms::bigint[], @repeated::boolean)

-- name: bury(message_ids, deliveries, repeated, reasons)
select {schema}.bury(@message_ids::bigint[], @deliveries::integer[], @reasons::text[], @repeated::boolean)

-- name: extend(message_ids, deliveries, leases_ms)
select {schema}.extend(@message_ids::bigint[], @deliveries::integer[], @leases_ms::bigint[])

-- name: heartbeat(worker_id)
select {schema}.heartbeat(@worker_id::bigint)

-- name: create_queue(queue, keep_archive, lease_ms, max_strikes, max_attempts, dead_letter_queue)
select {schema}.create_queue(@queue::text, @keep_archive::boolean, @lease_ms::bigint, @max_strikes::integer, @max_attempts::integer, @dead_letter_queue::text)

-- name: delete_queue(queue, force)
select {schema}.delete_queue(@queue::text, @force::boolean)

-- name: pause_queue(queue, paused)
select {schema}.pause_queue(@queue::text, @paused::boolean)

-- name: purge_queue(queue)
select {schema}.purge_queue(@queue::text)

-- name: list_queues(only_queue)
select q.queue_id, q.name, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts, d.name, q.created_at
from {schema}.queues q left join {schema}.queues d on d.queue_id = q.dead_letter_queue_id
where @only_queue::text is null or q.name = @only_queue::text
order by q.name

-- name: resolve_queues(names)
select coalesce(q.queue_id, 0)
from unnest(@names::text[]) with ordinality as n (name, place) left join {schema}.queues q using (name)
order by n.place

-- name: metrics()
select * from {schema}.metrics()

-- name: list_messages(queue, wanted_state, after_message, max_rows, only_message)
select * from {schema}.list_messages(@queue::text, @wanted_state::text, @after_message::bigint, @max_rows::integer, @only_message::bigint)

-- name: list_archive(queue, wanted_dead, after_message, max_rows)
select * from {schema}.list_archive(@queue::text, @wanted_dead::boolean, @after_message::bigint, @max_rows::integer)

-- name: replay(queue, only_message)
select {schema}.replay(@queue::text, @only_message::bigint)

-- name: purge_archive(queue, wanted_dead)
select {schema}.purge_archive(@queue::text, @wanted_dead::boolean)

-- name: register_worker(name, host, port, pid, lease_ms, subscriptions, handlers)
select {schema}.register_worker(@name::text, @host::text, @port::integer, @pid::integer, @lease_ms::bigint, @subscriptions::text[], @handlers::text[])

-- name: transition_worker(worker_id, event)
select {schema}.transition_worker(@worker_id::bigint, @event::text)

-- name: list_workers(only_worker)
select * from {schema}.list_workers(@only_worker::bigint)

-- name: purge_workers(older_than_ms)
select {schema}.purge_workers(@older_than_ms::bigint)

-- name: notify(queue_id)
select pg_notify('pawl_{schema_name}', @queue_id::text)

-- name: listen()
listen "pawl_{schema_name}"
