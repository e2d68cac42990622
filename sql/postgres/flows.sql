-- Flows: their definition, and their tasks. Times come in milliseconds from C++.

-- name: create_flow(flow, max_attempts, base_delay_ms, timeout_ms)
select {schema}.create_flow(@flow::text, @max_attempts::integer, @base_delay_ms::bigint / 1000.0, @timeout_ms::bigint / 1000.0)

-- name: add_step(flow, step, deps, max_attempts, base_delay_ms, timeout_ms, start_delay_ms, step_type, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted)
select {schema}.add_step(@flow::text, @step::text, @deps::text[], @max_attempts::integer, @base_delay_ms::bigint / 1000.0, @timeout_ms::bigint / 1000.0, @start_delay_ms::bigint / 1000.0, @step_type::text, @required_input_pattern::text, @forbidden_input_pattern::text, @when_unmet::text, @when_exhausted::text)

-- name: create_flow_shape(shape)
select {schema}.create_flow_shape(@shape::json)

-- name: ensure_flow(shape, force)
select {schema}.ensure_flow(@shape::json, @force::boolean)

-- name: get_flow_shape(flow)
select {schema}.get_flow_shape(q.name)::text
from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
where q.name = @flow::text and w.is_flow

-- name: delete_flow_and_data(flow, force)
select {schema}.delete_flow_and_data(@flow::text, @force::boolean)

-- name: list_tasks(run_id)
select step_slug::text, task_index, status, msg_id, attempts, delivery, worker_id, input, output, error_message, queued_at, started_at, coalesce(completed_at, failed_at, skipped_at, cancelled_at)
from {schema}.list_tasks(@run_id::bigint)

-- name: complete_task(run_id, step, task_index, output, delivery)
select {schema}.complete_task(@run_id::bigint, @step::text, @task_index::integer, @output::json, @delivery::integer)

-- name: fail_task(run_id, step, task_index, error, delivery)
select {schema}.fail_task(@run_id::bigint, @step::text, @task_index::integer, @error::text, @delivery::integer)

-- name: claim_tasks(queue_ids, qty, lease_ms, worker_id, default_lease_ms, after_queue, floor_priority, floor_message, looked_at, swept_at, steps)
select * from {schema}.claim_tasks(@queue_ids::bigint[], @qty::integer, @lease_ms::bigint, @worker_id::bigint, @default_lease_ms::bigint, @after_queue::bigint, @floor_priority::integer, @floor_message::bigint, @looked_at::timestamptz, @swept_at::timestamptz, @steps::text[])

-- name: complete_tasks(message_ids, deliveries, run_ids, steps, task_indexes, outputs, repeated, wake)
select outcomes, awaited, ended, queues from {schema}.complete_tasks(@message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[], @outputs::text[], @repeated::boolean, @wake::boolean)

-- name: fail_tasks(message_ids, deliveries, run_ids, steps, task_indexes, errors, permanents, retry_delays_ms, repeated, wake)
select outcomes, awaited, ended, queues from {schema}.fail_tasks(@message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[], @errors::text[], @permanents::boolean[], @retry_delays_ms::bigint[], @repeated::boolean, @wake::boolean)

-- name: extend_tasks(message_ids, deliveries, run_ids, steps, task_indexes, leases_ms)
select {schema}.explain_tasks({schema}.extend(@message_ids::bigint[], @deliveries::integer[], @leases_ms::bigint[]), @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[])

-- name: release_tasks(message_ids, deliveries, run_ids, steps, task_indexes, delays_ms, repeated)
select {schema}.explain_tasks({schema}.release(@message_ids::bigint[], @deliveries::integer[], @delays_ms::bigint[], @repeated::boolean), @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[])

-- name: hand_back_tasks(message_ids, deliveries, run_ids, steps, task_indexes, repeated)
select {schema}.explain_tasks({schema}.hand_back(@message_ids::bigint[], @deliveries::integer[], @repeated::boolean), @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[])

-- name: delegate_tasks(message_ids, deliveries, run_ids, steps, task_indexes, repeated, wake, workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts, parent_run_ids, tag_places, tags)
select outcomes, queues from {schema}.delegate_tasks(@message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @steps::text[], @task_indexes::integer[], @workflows::text[], @inputs::text[], @priorities::integer[], @delays_ms::bigint[], @ats::timestamptz[], @idempotency_keys::text[], @max_attempts::integer[], @parent_run_ids::bigint[], @tag_places::integer[], @tags::text[], @repeated::boolean, @wake::boolean)

-- name: call_runs(run_ids, deliveries, repeated, wake, attempts, event_kinds, event_data, step_ids, positions, step_attempts, inputs, elapsed_us, workflows, child_inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts, parent_run_ids, tag_places, tags)
select outcomes, queues from {schema}.call_runs(@run_ids::bigint[], @deliveries::integer[], @attempts::integer[], @step_ids::text[], @positions::integer[], @step_attempts::integer[], @inputs::text[], @elapsed_us::bigint[], @event_kinds::text[], @event_data::text[], @workflows::text[], @child_inputs::text[], @priorities::integer[], @delays_ms::bigint[], @ats::timestamptz[], @idempotency_keys::text[], @max_attempts::integer[], @parent_run_ids::bigint[], @tag_places::integer[], @tags::text[], @repeated::boolean, @wake::boolean)
