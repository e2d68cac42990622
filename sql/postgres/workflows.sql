-- Workflows.

-- call: create_workflow
-- call: delete_workflow
-- shared call: list_workflows -> workflow
-- call: workflow_stats -> workflow_stats
-- call: has_live_handler(workflow)
-- call: fail_unhandled

-- name: named_workflows(names) -> workflow
select * from {schema}.list_workflows() where workflow = any(@names::text[])
