-- Workflows.

-- call: create_workflow
-- call: delete_workflow
-- call: list_workflows
-- call: workflow_stats
-- call: has_live_handler(workflow)
-- call: fail_unhandled
