-- The transitions of a run of a flow, as in src/rowstore/flow/flow_engine.h, but for many runs in one call:
--
--   a step is done (SUCCESS, SKIPPED)  -> each dependent counts down; at 0 it becomes ready
--   a step becomes ready               -> its condition is evaluated; then its tasks are created or, if a map has
--                                         no elements or the condition is not met, it is done
--   all steps are done                 -> the run is SUCCESS
--   a step fails                       -> the run is ERROR, its open steps and tasks are CANCELLED
--
--   FlowEngine                            here
--   start                                 start_flow_runs (flow_tasks.sql)
--   start_steps                           copy_flow_run (flow_runs.sql)
--   succeed_step                          complete_held_tasks (task_reports.sql), then advance_runs
--   work, release_dependents, succeed     advance_runs
--   become_ready, start_single            advance_runs for plain steps, else start_conditional_steps
--   start_map, judge, not_met, skip_step  start_conditional_steps (start_conditional_steps.sql)
--   skip_dependents                       skip_dependents
--   reject_output                         reject_outputs (task_reports.sql)
--   exhaust_step                          exhaust_steps (task_failures.sql)
--   fail_step                             fail_steps (flow_ends.sql)
--   fail                                  fail_flow_runs (flow_ends.sql)
--   close                                 close_runs (run/run_ends.sql)
--
-- Steps that become ready at the same time start in this order on every store: first plain steps, then the others; by
-- run, step and task. Claims deliver the tasks of one priority in the order of their ids.
--
-- Everything happens in the caller's transaction. The caller has locked the rows of the runs, so no other session
-- writes their steps.
--
-- Items are aligned arrays. For `offset 0` and `= any(array[...])` see run/run_writes.sql. Conditions, maps, skips
-- and calls cost flows without them nothing: `plain` steps start in the statement that counts them down.

-- Whether a step starts with one task, independent of its input.
create or replace function {schema}.is_plain_step(step_type text, required json, forbidden json)
returns boolean
language sql immutable
as $$ select step_type = 'single' and required is null and forbidden is null $$;
comment on function {schema}.is_plain_step is 'Internal: whether a step has neither a map nor a condition.';

-- The timeout and 2 s for the report; null means the lease of the claim.
create or replace function {schema}.task_lease_ms(step_timeout_ms bigint, flow_timeout_ms bigint) returns bigint
language sql immutable
as $$ select nullif(coalesce(step_timeout_ms, flow_timeout_ms, 0), 0) + {rule:task_grace_ms} $$;
comment on function {schema}.task_lease_ms is 'Internal: the lease of a task in milliseconds.';

-- Processes steps that have just become SUCCESS, or SKIPPED without cascade: dependents count down, those without open
-- dependencies start, and so on; runs without open steps end. `finished` has one run for each step that became SUCCESS
-- or SKIPPED. `begun`: the tasks of these steps were started.
create or replace function {schema}.advance_runs(
    run_ids bigint[], workflow_ids bigint[], priorities integer[], step_indexes integer[],
    finished bigint[], begun boolean, at timestamptz,
    out ended bigint[], out failed bigint[], out started boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
    ready   record;
    special record;
    in_lane boolean := current_setting('transaction_isolation') <> 'read committed';  -- see flow/lanes.sql
begin
    started := false;
    while cardinality(run_ids) > 0 loop
        with due as (
            select n.run_id, n.workflow_id, n.priority, d.step_index, count(*)::integer as done
            from unnest(advance_runs.run_ids, advance_runs.workflow_ids, advance_runs.priorities,
                        advance_runs.step_indexes) as n (run_id, workflow_id, priority, step_index)
            cross join lateral (
                select d.step_index from {schema}.flow_deps d
                where d.workflow_id = n.workflow_id and d.dep_index = n.step_index
                offset 0
            ) d
            group by n.run_id, n.workflow_id, n.priority, d.step_index
        ),
        counted as (
            update {schema}.steps s
            set remaining_deps = s.remaining_deps - d.done,
                status = case when d.plain and s.remaining_deps = d.done then 'RUNNING' else s.status end,
                started_at = case when d.plain and s.remaining_deps = d.done then advance_runs.at end,
                initial_tasks = case when d.plain and s.remaining_deps = d.done then 1 end,
                remaining_tasks = case when d.plain and s.remaining_deps = d.done then 1 end
            from (
                select due.*, f.step_slug, f.plain, f.start_delay_ms, f.lease_ms, f.lanes
                from due
                cross join lateral (
                    select f.step_slug, f.start_delay_ms,
                           {schema}.is_plain_step(f.step_type, f.required_input_pattern,
                                                  f.forbidden_input_pattern) as plain,
                           {schema}.task_lease_ms(f.timeout_ms, w.task_timeout_ms) as lease_ms, w.lanes
                    from {schema}.flow_steps f join {schema}.workflows w using (workflow_id)
                    where f.workflow_id = due.workflow_id and f.step_index = due.step_index
                    offset 0
                ) f
            ) d
            where s.run_id = any(array[d.run_id]) and s.step_id = d.step_slug and s.status = 'PENDING'
            returning s.run_id, d.workflow_id, d.priority, d.step_index, d.plain, s.remaining_deps,
                      d.start_delay_ms, d.lease_ms, d.lanes
        ),
        made as (
            insert into {schema}.messages
                (queue_id, priority, state, visible_at, enqueued_at, payload, run_id, step_index, task_index,
                 lease_ms, lane)
            select c.workflow_id, c.priority, case when c.start_delay_ms > 0 then 'waiting' else 'ready' end,
                   advance_runs.at + {schema}.ms(c.start_delay_ms), advance_runs.at, 'null', c.run_id,
                   c.step_index, 0, c.lease_ms, case when c.lanes <> 'off' or in_lane then c.step_index end
            from counted c where c.remaining_deps = 0 and c.plain
            order by c.run_id, c.step_index
            returning message_id, run_id, step_index
        ),
        added as (
            insert into {schema}.tasks (run_id, step_index, task_index, message_id, status, queued_at)
            select m.run_id, m.step_index, 0, m.message_id, 'QUEUED', advance_runs.at from made m
        )
        select array_agg(c.run_id) filter (where not c.plain) as runs,
               array_agg(c.workflow_id) filter (where not c.plain) as workflows,
               array_agg(c.priority) filter (where not c.plain) as priorities,
               array_agg(c.step_index) filter (where not c.plain) as indexes,
               bool_or(c.plain) as started
        into ready
        from (
            select c.run_id, c.workflow_id, c.priority, c.step_index, c.plain
            from counted c where c.remaining_deps = 0 order by c.run_id, c.step_index
        ) c;
        started := started or coalesce(ready.started, false);
        exit when ready.runs is null;

        select * into special
        from {schema}.start_conditional_steps(
            ready.runs, ready.workflows, ready.priorities, ready.indexes, null, at);
        finished := finished || special.finished;
        started := started or special.started;
        if special.failed_runs is not null then
            failed := failed || special.failed_runs;
            -- A run that fails here does not advance further.
            perform {schema}.fail_steps(
                special.failed_runs, special.failed_indexes, special.failed_errors, at);
        end if;
        select array_agg(n.run_id), array_agg(n.workflow_id), array_agg(n.priority), array_agg(n.step_index)
        into run_ids, workflow_ids, priorities, step_indexes
        from unnest(special.run_ids, special.workflow_ids, special.priorities, special.step_indexes)
            as n (run_id, workflow_id, priority, step_index)
        where failed is null or n.run_id <> all(failed);
    end loop;

    if cardinality(finished) > 0 then
        with counted as (
            update {schema}.runs r
            set remaining_steps = r.remaining_steps - n.done, updated_at = advance_runs.at,
                status = case when r.remaining_steps = n.done then 'SUCCESS'
                              when begun and r.completed_at is null then 'RUNNING' else r.status end,
                flow_started = r.flow_started or begun and r.remaining_steps > n.done,
                started_at = case when begun or r.remaining_steps = n.done
                                  then coalesce(r.started_at, advance_runs.at) else r.started_at end,
                completed_at = case when r.remaining_steps = n.done then advance_runs.at else r.completed_at end,
                -- {"<leaf>": output, ...} over the steps of the run on which no other step of the run depends
                output = case when r.remaining_steps = n.done then (
                    select '{' || coalesce(string_agg('"' || s.step_id || '":' || s.output, ',' order by s.position),
                                           '') || '}'
                    from (
                        select s.step_id, s.position, s.status, s.output, count(*) over () as steps
                        from {schema}.steps s where s.run_id = r.run_id
                    ) s
                    where s.status = 'SUCCESS' and not exists (
                        select from {schema}.flow_deps d
                        where d.workflow_id = r.workflow_id and d.dep_index = s.position
                          and d.step_index < s.steps  -- steps after these were added to the flow later
                        offset 0
                    )
                ) end
            from (
                select u as run_id, count(*)::integer as done from unnest(advance_runs.finished) u
                group by u order by u
            ) n
            where r.run_id = any(array[n.run_id])
            returning r.run_id, r.remaining_steps
        )
        select array_agg(c.run_id) into ended from counted c where c.remaining_steps = 0;
        if ended is not null then
            if {schema}.keeps_all_events() then
                insert into {schema}.events (run_id, kind, data, delivery, at)
                select e.run_id, '{event:run_succeeded}', '{}', 0, advance_runs.at
                from unnest(ended) as e (run_id)
                cross join lateral (
                    select from {schema}.runs r join {schema}.workflows w on w.workflow_id = r.workflow_id
                    where r.run_id = e.run_id and (w.audit = 'all' or {schema}.is_followed(e.run_id)) offset 0
                ) w;
            end if;
            perform {schema}.end_calls(ended, at);
            perform {schema}.publish_run_ends(ended, at);
        end if;
    end if;
end
$$;
comment on function {schema}.advance_runs is
    'Internal: counts down the dependents of done steps, starts ready steps, and ends runs without open steps.';
