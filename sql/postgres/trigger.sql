-- New runs.

-- call: trigger_batch

-- name: trigger_one(workflow, input, priority, max_attempts, parent_run_id, wake)
select array[t.run_id], array[t.created], array[t.workflow_id] from {call:trigger_one} t
