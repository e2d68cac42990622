-- Definitions of flows. C++ passes times in milliseconds.

-- name: create_flow(flow, max_attempts, base_delay_ms, timeout_ms)
select {schema}.create_flow(@flow::text, @max_attempts::integer, @base_delay_ms::bigint / 1000.0,
                            @timeout_ms::bigint / 1000.0)

-- name: add_step(flow, step, deps, max_attempts, base_delay_ms, timeout_ms, start_delay_ms, step_type, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted)
select {schema}.add_step(
    @flow::text, @step::text, @deps::text[], @max_attempts::integer, @base_delay_ms::bigint / 1000.0,
    @timeout_ms::bigint / 1000.0, @start_delay_ms::bigint / 1000.0, @step_type::text, @required_input_pattern::text,
    @forbidden_input_pattern::text, @when_unmet::text, @when_exhausted::text)

-- call: create_flow_shape
-- call: ensure_flow

-- name: get_flow_shape(flow)
select {schema}.get_flow_shape(q.name)::text
from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
where q.name = @flow::text and w.is_flow

-- call: delete_flow_and_data
