-- One call for everything that a dashboard shows about a run.

-- {"run": {...}, "steps": [{..., "tasks": [...]}]}; null for an unknown run. Only the steps of flows have tasks.
create or replace function {schema}.get_run_with_steps(run_id bigint) returns json
language sql stable
as $$
    select json_build_object(
        'run', json_build_object(
            'run_id', r.run_id, 'workflow', q.name, 'is_flow', r.remaining_steps is not null, 'status', r.status,
            'priority', r.priority, 'remaining_steps', r.remaining_steps, 'created_at', r.created_at,
            'started_at', r.started_at, 'updated_at', r.updated_at, 'paused_at', r.paused_at,
            'completed_at', r.completed_at, 'input', {schema}.as_json(r.input)::json,
            'output', case when r.output is not null then {schema}.as_json(r.output)::json end,
            'error', case when r.error is not null then {schema}.as_json(r.error)::json end),
        'steps', coalesce((
            select json_agg(json_build_object(
                'step', s.step_id, 'position', s.position, 'status', s.status, 'attempt', s.attempt,
                'remaining_deps', s.remaining_deps, 'initial_tasks', s.initial_tasks,
                'remaining_tasks', s.remaining_tasks, 'skip_reason', s.skip_reason, 'started_at', s.started_at,
                'completed_at', s.completed_at,
                'output', case when s.output is not null then {schema}.as_json(s.output)::json end,
                'error', case when s.error is not null then {schema}.as_json(s.error)::json end,
                'tasks', (
                    select json_agg(json_build_object(
                        'task_index', t.task_index, 'status', t.status, 'attempts', t.attempts,
                        'queued_at', t.queued_at, 'started_at', t.started_at, 'completed_at', t.completed_at,
                        'error_message', t.error) order by t.task_index)
                    from {schema}.tasks t where t.run_id = s.run_id and t.step_index = s.position
                )) order by s.position, s.step_id)
            from {schema}.steps s where s.run_id = r.run_id
        ), '[]'))
    from {schema}.runs r join {schema}.queues q on q.queue_id = r.workflow_id
    where r.run_id = get_run_with_steps.run_id and r.deleted_at is null
$$;
comment on function {schema}.get_run_with_steps is
    'A run with its steps, and for a flow with their tasks, as one JSON object; null for an unknown run.';
