-- Calls: runs for which another run waits. The transaction that ends a called run also passes its result to the caller.

-- name: has_calls()
select exists (select 1 from pawl_calls);

-- name: insert_call(run_id, caller_run_id, caller_step, caller_task)
insert or replace into pawl_calls (run_id, caller_run_id, caller_step, caller_task)
values (@run_id, @caller_run_id, @caller_step, @caller_task);

-- name: find_call(run_id) -> (caller_run_id, caller_step, caller_task)
select caller_run_id, caller_step, caller_task from pawl_calls where run_id = @run_id;

-- name: delete_call(run_id)
delete from pawl_calls where run_id = @run_id;

-- name: called_runs(caller_run_id) -> (run_id, caller_step, caller_task)
select run_id, caller_step, caller_task from pawl_calls where caller_run_id = @caller_run_id;

-- The result of a run, for its caller.
-- name: run_result(run_id) -> (status, output, error, workflow)
select r.status, r.output, r.error, q.name as workflow
from pawl_runs r
join pawl_queues q on q.queue_id = r.workflow_id
where r.run_id = @run_id;

-- name: end_called_step(run_id, step_id, status, output, error, now)
update pawl_steps
set status = @status, output = @output, error = @error, completed_at = @now
where run_id = @run_id and step_id = @step_id and status in ('PENDING', 'RUNNING', 'PAUSED');

-- name: delete_workflow_calls(run_ids)
delete from pawl_calls
where run_id in (select value from json_each(@run_ids))
   or caller_run_id in (select value from json_each(@run_ids));
