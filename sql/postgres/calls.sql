-- Calls: steps and tasks that wait for runs.

-- call: delegate_tasks(message_ids, deliveries, run_ids, step_slugs, task_indexes, repeated, wake, ...)
-- call: call_runs(run_ids, deliveries, repeated, wake, attempts, event_kinds, event_data, ...)
