-- Tasks of flows.

-- shared: list_tasks(run_id) -> task
select step_slug::text, task_index, status, msg_id as message_id, attempts, delivery, worker_id, input, output, error_message as error,
       queued_at, started_at, coalesce(completed_at, failed_at, skipped_at, cancelled_at) as completed_at
from {schema}.list_tasks(@run_id::bigint)

-- call: complete_task
-- call: fail_task
-- call: complete_tasks
-- call: fail_tasks

-- name: extend_tasks(message_ids, deliveries, run_ids, step_slugs, task_indexes, leases_ms)
select {schema}.explain_tasks(
    {call:extend},
    @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @step_slugs::text[], @task_indexes::integer[])

-- name: release_tasks(message_ids, deliveries, run_ids, step_slugs, task_indexes, delays_ms, repeated)
select {schema}.explain_tasks(
    {call:release},
    @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @step_slugs::text[], @task_indexes::integer[])

-- name: hand_back_tasks(message_ids, deliveries, run_ids, step_slugs, task_indexes, repeated)
select {schema}.explain_tasks(
    {call:hand_back},
    @message_ids::bigint[], @deliveries::integer[], @run_ids::bigint[], @step_slugs::text[], @task_indexes::integer[])
