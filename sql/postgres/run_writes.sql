-- Writes of the holder of a run. The keys of the items come first, as in all writes of a batch.

-- call: record_steps(run_ids, deliveries, repeated, ...)

-- name: record_step(run_id, delivery, repeated, step_id, step_position, status, attempt, input, output, error, wake_at, elapsed_us)
select array[{call:record_step}]

-- call: suspend_runs(run_ids, deliveries, repeated, statuses, delays_ms, untils, attempts, reasons, event_kinds, event_data, ...)
-- call: finish_runs(run_ids, deliveries, repeated, ...)

-- name: finish_run(run_id, delivery, repeated, output, wake) -> (outcomes, awaited)
select array[f.outcome] as outcomes, array_remove(array[f.awaited], null) as awaited from {call:finish_run} f

-- call: reject_resume
-- call: publish_steps
-- call: add_step_events(run_ids, deliveries, repeated, ...)
