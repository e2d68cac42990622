-- Flows: definition and administration. src/model/flow.h checks declarations; the statements for runs are in
-- flow_runs.sql.

-- Workflow options that flows do not use keep their defaults.
-- name: insert_flow(workflow_id, max_attempts, base_delay_ms, timeout_ms, created_at)
insert into pawl_workflows
    (workflow_id, max_attempts, backoff_base_ms, is_flow, task_timeout_ms, created_at)
values (@workflow_id, @max_attempts, @base_delay_ms, 1, nullif(@timeout_ms, 0), @created_at);

-- Changes only the given options.
-- name: change_flow(workflow_id, max_attempts, base_delay_ms, timeout_ms)
update pawl_workflows
set max_attempts = coalesce(@max_attempts, max_attempts),
    backoff_base_ms = coalesce(@base_delay_ms, backoff_base_ms),
    task_timeout_ms = nullif(coalesce(@timeout_ms, task_timeout_ms), 0)
where workflow_id = @workflow_id;

-- name: flow_id(name) -> (workflow_id, is_flow)
select w.workflow_id, w.is_flow
from pawl_queues q
left join pawl_workflows w on w.workflow_id = q.queue_id
where q.name = @name;

-- Steps are only ever added, so the number of steps and the options show whether a cached plan is current.
-- name: flow_head(workflow_id) -> (flow, max_attempts, backoff_base_ms, task_timeout_ms, audit, steps, lanes)
select q.name as flow, w.max_attempts, w.backoff_base_ms, w.task_timeout_ms, w.audit,
       (select max(s.step_index) + 1 from pawl_flow_steps s where s.workflow_id = w.workflow_id) as steps,
       w.lanes
from pawl_workflows w
join pawl_queues q on q.queue_id = w.workflow_id
where w.workflow_id = @workflow_id and w.is_flow = 1;

-- Tasks of the flow get a lane from now on.
-- name: open_lanes(workflow_id)
update pawl_workflows set lanes = 1 where workflow_id = @workflow_id and lanes = 0;

-- Existing tasks get their lane too.
-- name: fill_lanes(workflow_id)
update pawl_messages set lane = step_index
where queue_id = @workflow_id and run_id is not null and lane is null;

-- name: flow_steps(workflow_id) -> (step_slug, step_type, max_attempts, base_delay_ms, timeout_ms, start_delay_ms, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted)
select step_slug, step_type, max_attempts, base_delay_ms, timeout_ms, start_delay_ms,
       required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted
from pawl_flow_steps where workflow_id = @workflow_id
order by step_index;

-- name: flow_deps(workflow_id) -> (step_index, dep_index)
select step_index, dep_index from pawl_flow_deps where workflow_id = @workflow_id
order by step_index, dep_index;

-- name: insert_flow_step(workflow_id, step_index, step_slug, step_type, deps_count, max_attempts, base_delay_ms, timeout_ms, start_delay_ms, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted, created_at)
insert into pawl_flow_steps
    (workflow_id, step_index, step_slug, step_type, deps_count, max_attempts, base_delay_ms,
     timeout_ms, start_delay_ms, required_input_pattern, forbidden_input_pattern, when_unmet,
     when_exhausted, created_at)
values
    (@workflow_id, @step_index, @step_slug, @step_type, @deps_count, @max_attempts, @base_delay_ms,
     @timeout_ms, @start_delay_ms, @required_input_pattern, @forbidden_input_pattern, @when_unmet,
     @when_exhausted, @created_at);

-- name: insert_flow_dep(workflow_id, step_index, dep_index)
insert into pawl_flow_deps (workflow_id, step_index, dep_index)
values (@workflow_id, @step_index, @dep_index);

-- name: live_runs(workflow_id)
select run_id from pawl_runs indexed by pawl_runs_group
where run_group in (0, 1) and workflow_id = @workflow_id
order by run_group, created_at, run_id;

-- name: delete_flow_deps(workflow_id)
delete from pawl_flow_deps where workflow_id = @workflow_id;

-- name: delete_flow_steps(workflow_id)
delete from pawl_flow_steps where workflow_id = @workflow_id;

-- name: delete_workflow_tasks(run_ids)
delete from pawl_tasks
where run_id in (select value from json_each(@run_ids));
