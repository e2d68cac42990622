-- New runs.

-- call: trigger_batch -> triggered

-- name: trigger_one(workflow, input, priority, max_attempts, parent_run_id, wake) -> triggered
select array[t.run_id] as run_ids, array[t.created] as created, array[t.workflow_id] as workflow_ids from {call:trigger_one} t
