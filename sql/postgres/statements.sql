-- What the C++ store sends: calls of the schema's functions, and reads of its tables.

-- name: clock()
select {schema}.clock()

-- name: enqueue_batch(queue, payloads, priorities, delays_ms, ats, wake)
select {schema}.enqueue_batch(@queue::text, @payloads::json[], @priorities::integer[], @delays_ms::bigint[], @ats::timestamptz[], @wake::boolean), {schema}.queue_id(@queue::text)

-- name: claim(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at)
select * from {schema}.claim(@queue_ids::bigint[], @qty::integer, @lease_ms::bigint, @worker_id::bigint, @default_lease_ms::bigint, @after_queue::bigint, @floor_priority::integer, @floor_message::bigint, @looked_at::timestamptz, @swept_at::timestamptz)

-- name: claim_runs(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at, step_bytes)
select * from {schema}.claim_runs(@queue_ids::bigint[], @qty::integer, @lease_ms::bigint, @worker_id::bigint, @default_lease_ms::bigint, @after_queue::bigint, @floor_priority::integer, @floor_message::bigint, @looked_at::timestamptz, @swept_at::timestamptz, @step_bytes::bigint)

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

-- name: settle(queue, action, message_ids, deliveries, delays_ms, reasons, repeated)
select {schema}.settle(@queue::text, @action::text, @message_ids::bigint[], @deliveries::integer[], @delays_ms::bigint[], @reasons::text[], @repeated::boolean)

-- name: record_steps(run_ids, deliveries, repeated, step_ids, positions, statuses, attempts, inputs, outputs, errors, wake_ats, elapsed_us)
select {schema}.record_steps(@run_ids::bigint[], @deliveries::integer[], @step_ids::text[], @positions::integer[], @statuses::text[], @attempts::integer[], @inputs::text[], @outputs::text[], @errors::text[], @wake_ats::timestamptz[], @elapsed_us::bigint[], @repeated::boolean)

-- name: record_step(run_id, delivery, repeated, step_id, step_position, status, attempt, input, output, error, wake_at, elapsed_us)
select array[{schema}.record_step(@run_id::bigint, @delivery::integer, @step_id::text, @step_position::integer, @status::text, @attempt::integer, @input::text, @output::text, @error::text, @wake_at::timestamptz, @elapsed_us::bigint, @repeated::boolean)]

-- name: suspend_runs(run_ids, deliveries, repeated, statuses, delays_ms, untils, attempts, reasons, event_kinds, event_data, step_ids, positions, step_statuses, step_attempts, inputs, errors, pause_messages, pause_conditions, wake_ats, wake_after_delays, elapsed_us)
select {schema}.suspend_runs(@run_ids::bigint[], @deliveries::integer[], @statuses::text[], @delays_ms::bigint[], @untils::timestamptz[], @attempts::integer[], @reasons::text[], @step_ids::text[], @positions::integer[], @step_statuses::text[], @step_attempts::integer[], @inputs::text[], @errors::text[], @pause_messages::text[], @pause_conditions::text[], @wake_ats::timestamptz[], @wake_after_delays::boolean[], @elapsed_us::bigint[], @event_kinds::text[], @event_data::text[], @repeated::boolean)

-- name: finish_runs(run_ids, deliveries, repeated, outputs, errors, event_kinds, event_data, wake)
select outcomes, awaited from {schema}.finish_runs(@run_ids::bigint[], @deliveries::integer[], @outputs::text[], @errors::text[], @event_kinds::text[], @event_data::text[], @repeated::boolean, @wake::boolean)

-- name: finish_run(run_id, delivery, repeated, output, wake)
select array[f.outcome], array_remove(array[f.awaited], null) from {schema}.finish_run(@run_id::bigint, @delivery::integer, @output::text, @repeated::boolean, @wake::boolean) f

-- name: heartbeat(worker_id)
select status, beats from {schema}.beat_worker(@worker_id::bigint)

-- name: create_queue(queue, keep_archive, lease_ms, max_strikes, max_attempts, dead_letter_queue)
select {schema}.create_queue(@queue::text, @keep_archive::boolean, @lease_ms::bigint, @max_strikes::integer, @max_attempts::integer, @dead_letter_queue::text)

-- name: delete_queue(queue, force)
select {schema}.delete_queue(@queue::text, @force::boolean)

-- name: pause_queue(queue, paused)
select {schema}.pause_queue(@queue::text, @paused::boolean)

-- name: purge_queue(queue)
select {schema}.purge_queue(@queue::text)

-- shared: list_queues(only_queue) -> queue
select q.queue_id, q.name as queue, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts,
       d.name as dead_letter_queue, q.created_at,
       case when w.workflow_id is null then 'plain' when w.is_flow then 'flow' else 'workflow' end as kind
from {schema}.queues q
left join {schema}.queues d on d.queue_id = q.dead_letter_queue_id
left join {schema}.workflows w on w.workflow_id = q.queue_id
where @only_queue::text is null or q.name = @only_queue::text
order by q.name

-- name: list_leases(worker, queue_ids)
select message_id, delivery from {schema}.list_leases(@worker, @queue_ids)

-- name: resolve_queues(names)
select coalesce(q.queue_id, 0), w.workflow_id is not null
from unnest(@names::text[]) with ordinality as n (name, place)
left join {schema}.queues q using (name)
left join {schema}.workflows w on w.workflow_id = q.queue_id
order by n.place

-- name: queue_stats(queue_names, count_limit, archive_limit) -> queue_stats
select * from {schema}.queue_stats(@queue_names::text[], @count_limit::integer, @archive_limit::integer)

-- name: list_messages(queue, wanted_state, after_message, max_rows, only_message) -> message
select * from {schema}.list_messages(@queue::text, @wanted_state::text, @after_message::bigint, @max_rows::integer, @only_message::bigint)

-- name: list_archive(queue, wanted_dead, after_message, max_rows) -> archived
select * from {schema}.list_archive(@queue::text, @wanted_dead::boolean, @after_message::bigint, @max_rows::integer)

-- name: replay(queue, only_message)
select {schema}.replay(@queue::text, @only_message::bigint)

-- name: purge_archive(queue, wanted_dead)
select {schema}.purge_archive(@queue::text, @wanted_dead::boolean)

-- name: create_workflow(workflow, max_attempts, backoff_base_ms, backoff_cap_ms, lease_ms, run_timeout_ms, max_strikes, dead_letter_workflow, audit, publish)
select {schema}.create_workflow(@workflow::text, @max_attempts::integer, @backoff_base_ms::bigint, @backoff_cap_ms::bigint, @lease_ms::bigint, @run_timeout_ms::bigint, @max_strikes::integer, @dead_letter_workflow::text, @audit::text, @publish::text)

-- name: delete_workflow(workflow)
select {schema}.delete_workflow(@workflow::text)

-- shared: list_workflows(only_workflow) -> workflow
select * from {schema}.list_workflows(@only_workflow::text)

-- name: named_workflows(names) -> workflow
select * from {schema}.list_workflows() where workflow = any(@names::text[])

-- name: workflow_stats(workflow, window_ms, count_limit) -> workflow_stats
select * from {schema}.workflow_stats(@workflow::text, @window_ms::bigint, @count_limit::integer)

-- name: has_live_handler(workflow)
select {schema}.has_live_handler(@workflow::text)

-- name: fail_unhandled(prefixes)
select {schema}.fail_unhandled(@prefixes::text[])

-- name: trigger_batch(workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts, parent_run_ids, tag_places, tags, wake)
select run_ids, created, workflow_ids from {schema}.trigger_batch(@workflows::text[], @inputs::text[], @priorities::integer[], @delays_ms::bigint[], @ats::timestamptz[], @idempotency_keys::text[], @max_attempts::integer[], @parent_run_ids::bigint[], @tag_places::integer[], @tags::text[], @wake::boolean)

-- name: trigger_one(workflow, input, priority, max_attempts, parent_run_id, wake)
select array[t.run_id], array[t.created], array[t.workflow_id] from {schema}.trigger_one(@workflow::text, @input::text, @priority::integer, @max_attempts::integer, @parent_run_id::bigint, @wake::boolean) t

-- name: get_run(run_id) -> run
select * from {schema}.run_rows r where r.run_id = @run_id::bigint

-- shared: find_end(run_id) -> run_end
select e.status, e.deleted_at is not null as deleted, e.output from {schema}.run_ends e where e.run_id = @run_id::bigint

-- name: list_runs(workflow, status, created_from, created_before, tag, idempotency_key, include_deleted, before_run, max_rows) -> run
select r.*
from unnest({schema}.find_runs(@workflow::text, @status::text, @created_from::timestamptz, @created_before::timestamptz, @tag::text, @idempotency_key::text, @include_deleted::boolean, @before_run::bigint, @max_rows::integer)) with ordinality as u (id, place)
join {schema}.run_rows r on r.run_id = u.id
order by u.place

-- name: run_counts(workflow, status, created_from, created_before, tag, idempotency_key, include_deleted, count_limit)
select * from {schema}.run_counts(@workflow::text, @status::text, @created_from::timestamptz, @created_before::timestamptz, @tag::text, @idempotency_key::text, @include_deleted::boolean, @count_limit::integer)

-- name: lineage(run_id) -> run
select * from {schema}.lineage(@run_id::bigint)

-- shared: list_steps(run_id) -> step
select step_id::text, position, status, attempt, delivery, worker_id, input, output, error, pause_message, pause_condition, wake_at, started_at, completed_at, remaining_deps, initial_tasks, remaining_tasks, skip_reason
from {schema}.step_rows where run_id = @run_id::bigint order by position, step_id

-- shared: list_events(run_id) -> event
select event_id, run_id, kind, data, worker_id, delivery, at from {schema}.event_rows where run_id = @run_id::bigint order by event_id

-- name: resume(run_id, step_id, data)
select {schema}.resume(@run_id::bigint, @step_id::text, @data::json)

-- name: resume_early(run_id, step_id, data)
select {schema}.resume_early(@run_id::bigint, @step_id::text, @data::json)

-- name: reject_resume(run_id, delivery, step_id, message, check_after_ms)
select {schema}.reject_resume(@run_id::bigint, @delivery::integer, @step_id::text, @message::text, @check_after_ms::bigint)

-- name: cancel(run_id, reason)
select {schema}.cancel(@run_id::bigint, @reason::text)

-- name: wake(run_id)
select {schema}.wake(@run_id::bigint)

-- name: find_lost_runs(after_workflow, after_run, max_rows)
select looked, last_workflow, last_run, run_ids, workflows, step_slugs, task_indexes
from {schema}.find_lost_runs(@after_workflow::bigint, @after_run::bigint, @max_rows::integer)

-- name: repair_runs()
select run_id, workflow, step_slug, task_index from {schema}.repair_runs()

-- name: retry(run_id)
select {schema}.retry(@run_id::bigint)

-- name: fork(run_id, from_step)
select {schema}.fork(@run_id::bigint, @from_step::text)

-- name: delete_run(run_id, reason)
select {schema}.delete_run(@run_id::bigint, @reason::text)

-- name: await_run(run_id)
select {schema}.await_run(@run_id::bigint)

-- shared: list_schedules(only_schedule) -> schedule
select * from {schema}.list_schedules(@only_schedule::text)

-- name: save_schedule(schedule_id, version, schedule, workflow, cron, time_zone, params, starts_at, ends_at, jitter_ms, priority, overlap, catch_up, catch_up_limit, paused, next_fire_at, waiting_fire_at)
select {schema}.save_schedule(@schedule_id::bigint, @version::bigint, @schedule::text, @workflow::text, @cron::text, @time_zone::text, @params::text, @starts_at::timestamptz, @ends_at::timestamptz, @jitter_ms::bigint, @priority::integer, @overlap::text, @catch_up::text, @catch_up_limit::integer, @paused::boolean, @next_fire_at::timestamptz, @waiting_fire_at::timestamptz)

-- name: delete_schedule(schedule)
select {schema}.delete_schedule(@schedule::text)

-- name: due_schedules(max_rows) -> due_schedule
select * from {schema}.due_schedules(@max_rows::integer)

-- name: fire_schedule(schedule_id, version, fire_ats, ats, idempotency_keys, next_fire_at, wake)
select fired, fired_workflow_id from {schema}.fire_schedule(@schedule_id::bigint, @version::bigint, @fire_ats::timestamptz[], @ats::timestamptz[], @idempotency_keys::text[], @next_fire_at::timestamptz, @wake::boolean)

-- name: publish_batch(types, payloads, aggregates, subjects, traceparents, event_ids, wake)
select {schema}.publish_batch(@types::text[], @payloads::text[], @aggregates::text[], @subjects::text[], @traceparents::text[], @event_ids::text[], @wake::boolean)

-- name: publish_steps(run_ids, deliveries, step_ids, event_ids, types, payloads, aggregates, subjects, traceparents, wake)
select {schema}.publish_steps(@run_ids::bigint[], @deliveries::integer[], @step_ids::text[], @event_ids::text[], @types::text[], @payloads::text[], @aggregates::text[], @subjects::text[], @traceparents::text[], @wake::boolean)

-- name: add_step_events(run_ids, deliveries, repeated, step_ids, statuses, event_kinds, event_data)
select {schema}.add_step_events(@run_ids::bigint[], @deliveries::integer[], @step_ids::text[], @statuses::text[], @event_kinds::text[], @event_data::text[], @repeated::boolean)

-- name: list_outbox(wanted_status, wanted_type, wanted_aggregate, wanted_run, after_event, max_rows) -> outbox_event
select * from {schema}.list_outbox(@wanted_status::text, @wanted_type::text, @wanted_aggregate::text, @wanted_run::bigint, @after_event::bigint, @max_rows::integer)

-- name: claim_outbox(qty, per_aggregate, lease_ms, from_at, from_id) -> claimed_event
select * from {schema}.claim_outbox_from(@qty::integer, @per_aggregate::integer, @lease_ms::bigint, @from_at::timestamptz, @from_id::bigint)

-- name: report_outbox(outbox_ids, deliveries, kinds, errors, delays_ms)
select {schema}.report_outbox(@outbox_ids::bigint[], @deliveries::integer[], @kinds::text[], @errors::text[], @delays_ms::bigint[])

-- name: retry_parked(outbox_id)
select {schema}.retry_parked(@outbox_id::bigint)

-- name: set_retention(kind, name, keep_ms, keep_count)
select {schema}.set_retention(@kind::text, @name::text, @keep_ms::bigint, @keep_count::bigint)

-- name: clear_retention(kind, name)
select {schema}.clear_retention(@kind::text, @name::text)

-- name: list_retention()
select * from {schema}.list_retention()

-- name: plan_prune()
select * from {schema}.plan_prune()

-- name: prune_batch(kind, queue_id, after_at, after_id, max_rows, dry_run)
select * from {schema}.prune_batch(@kind::text, @queue_id::bigint, @after_at::timestamptz, @after_id::bigint, @max_rows::integer, @dry_run::boolean)

-- name: claim_prune(interval_ms, again)
select * from {schema}.claim_prune(@interval_ms::bigint, @again::boolean)

-- name: register_worker(name, host, port, pid, lease_ms, subscriptions, handlers)
select {schema}.register_worker(@name::text, @host::text, @port::integer, @pid::integer, @lease_ms::bigint, @subscriptions::text[], @handlers::text[])

-- name: transition_worker(worker_id, event)
select {schema}.transition_worker(@worker_id::bigint, @event::text)

-- name: list_workers(only_worker) -> worker
select * from {schema}.list_workers(@only_worker::bigint)

-- name: purge_workers(older_than_ms)
select {schema}.purge_workers(@older_than_ms::bigint)

-- name: delete_worker(worker_id)
select {schema}.delete_worker(@worker_id::bigint)

-- name: list_held(worker_id, after_message, max_rows) -> message
select * from {schema}.list_held(@worker_id::bigint, @after_message::bigint, @max_rows::integer)

-- name: worker_counts(count_limit)
select live, lost, stopped, at_least from {schema}.worker_counts(@count_limit::integer)

-- The counts of the whole store are in each row; if no queue exists, in the only one.
-- name: backlog(queue_names, count_limit)
select b.*, {schema}.outbox_lag_ms(), w.live, w.lost
from {schema}.worker_counts(0) w
left join {schema}.queue_stats(@queue_names::text[], @count_limit::integer) b on true

-- name: notify(payload)
select pg_notify('pawl_{schema_name}', @payload::text)

-- name: restored()
select {schema}.restored()

-- name: probe()
select 'pawl: is anybody there'

-- name: listen()
listen "pawl_{schema_name}"
