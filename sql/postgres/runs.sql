-- Lookups of runs, and operations of users.

-- name: get_run(run_id) -> run
select * from {schema}.run_rows r where r.run_id = @run_id::bigint

-- shared: find_end(run_id) -> run_end
select e.status, e.deleted_at is not null as deleted, e.output from {schema}.run_ends e where e.run_id = @run_id::bigint

-- name: list_runs(workflow, status, created_from, created_before, tag, idempotency_key, include_deleted, before_run, max_rows) -> run
select r.*
from unnest({call:find_runs}) with ordinality as u (id, place)
join {schema}.run_rows r on r.run_id = u.id
order by u.place

-- call: run_counts
-- call: lineage -> run

-- shared: list_steps(run_id) -> step
select step_id::text, position, status, attempt, delivery, worker_id, input, output, error, pause_message, pause_condition,
       wake_at, started_at, completed_at, remaining_deps, initial_tasks, remaining_tasks, skip_reason, called_run_id
from {schema}.step_rows where run_id = @run_id::bigint order by position, step_id

-- shared: list_events(run_id) -> event
select event_id, run_id, kind, data, worker_id, delivery, at from {schema}.event_rows where run_id = @run_id::bigint order by event_id

-- call: resume
-- call: resume_early
-- call: cancel
-- call: wake
-- call: retry
-- call: fork
-- call: delete_run
-- call: await_run
