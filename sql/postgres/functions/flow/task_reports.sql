-- Reports about tasks. As in queue/settle.sql: aligned arrays, no waiting for locks, no errors for data, one outcome
-- per item. complete_task and fail_task are for users and other languages, and wait for locks.

-- Sets tasks to SUCCESS whose runs are locked and whose messages are deleted. `held` marks the items that count; null
-- means all.
create or replace function {schema}.complete_held_tasks(
    held boolean[], run_ids bigint[], workflow_ids bigint[], priorities integer[], step_indexes integer[],
    task_indexes integer[], outputs text[], at timestamptz,
    out ended bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    done          record;
    wrong         record;
    wrong_runs    bigint[];
    wrong_indexes integer[];
    next          record;
begin
    update {schema}.tasks t
    set status = 'SUCCESS', output = n.output, completed_at = complete_held_tasks.at
    from unnest(held, run_ids, step_indexes, task_indexes, outputs)
        as n (held, run_id, step_index, task_index, output)
    where t.run_id = any(array[n.run_id]) and t.step_index = n.step_index and t.task_index = n.task_index
      and n.held is not false;

    with counted as (
        update {schema}.steps s
        set remaining_tasks = s.remaining_tasks - n.done,
            status = case when s.remaining_tasks = n.done then 'SUCCESS' else s.status end,
            completed_at = case when s.remaining_tasks = n.done then complete_held_tasks.at end,
            output = n.output
        from (
            select n.run_id, n.workflow_id, n.priority, n.step_index, f.step_slug, f.is_map, f.feeds_map,
                   count(*)::integer as done, min(case when not f.is_map then n.output end) as output
            from unnest(held, run_ids, workflow_ids, priorities, step_indexes, outputs)
                as n (held, run_id, workflow_id, priority, step_index, output)
            cross join lateral (
                select f.step_slug, f.step_type = 'map' as is_map, f.feeds_map from {schema}.flow_steps f
                where f.workflow_id = n.workflow_id and f.step_index = n.step_index
                offset 0
            ) f
            where n.held is not false
            group by n.run_id, n.workflow_id, n.priority, n.step_index, f.step_slug, f.is_map, f.feeds_map
        ) n
        where s.run_id = any(array[n.run_id]) and s.step_id = n.step_slug
        returning s.run_id, n.workflow_id, n.priority, n.step_index, n.step_slug, n.is_map, s.remaining_tasks,
                  n.feeds_map and not {schema}.is_array(n.output) as is_wrong
    )
    select array_agg(c.run_id) as runs, array_agg(c.workflow_id) as workflows,
           array_agg(c.priority) as priorities, array_agg(c.step_index) as indexes,
           array_agg(c.run_id) filter (where c.is_map) as map_runs,
           array_agg(c.step_slug) filter (where c.is_map) as map_slugs,
           array_agg(c.step_index) filter (where c.is_map) as map_indexes,
           bool_or(c.is_wrong) as any_wrong
    into done
    from counted c where c.remaining_tasks = 0;
    if done.any_wrong then
        select * into wrong
        from {schema}.reject_outputs(done.runs, done.workflows, done.priorities, done.indexes, at);
        wrong_runs := wrong.wrong_runs;
        wrong_indexes := wrong.wrong_indexes;
    end if;
    if {schema}.keeps_all_events() then
        perform {schema}.add_task_events(
            '{event:task_succeeded}', array_agg(n.run_id), array_agg(n.step_index), array_agg(n.task_index), at)
        from unnest(held, run_ids, step_indexes, task_indexes) as n (held, run_id, step_index, task_index)
        where n.held is not false
          and (wrong_runs is null or (n.run_id, n.step_index) not in (
              select u.run_id, u.step_index from unnest(wrong_runs, wrong_indexes) as u (run_id, step_index)))
        having count(*) > 0;
    end if;
    if done.runs is null then
        return;
    end if;
    if done.map_runs is not null then
        update {schema}.steps s
        set output = (
            select '[' || string_agg(t.output, ',' order by t.task_index) || ']'
            from {schema}.tasks t where t.run_id = n.run_id and t.step_index = n.step_index
        )
        from unnest(done.map_runs, done.map_slugs, done.map_indexes) as n (run_id, slug, step_index)
        where s.run_id = any(array[n.run_id]) and s.step_id = n.slug;
    end if;
    if done.any_wrong then
        select * into next
        from {schema}.advance_runs(
            wrong.run_ids, wrong.workflow_ids, wrong.priorities, wrong.step_indexes, wrong.finished, true, at);
        ended := wrong_runs;
    else
        select * into next
        from {schema}.advance_runs(done.runs, done.workflows, done.priorities, done.indexes, done.runs, true, at);
    end if;
    ended := ended || next.ended || next.failed;
    if next.started then
        queues := array(select distinct u from unnest(done.workflows) u);
    end if;
end
$$;
comment on function {schema}.complete_held_tasks is 'Internal: records the success of leased tasks and its effects.';

-- Of steps that have just succeeded, fails those whose output is not the array that a map needs, with their tasks and
-- runs; they keep the output. Returns the other steps, whose dependents may start, and in `finished` one run per
-- succeeded step.
create or replace function {schema}.reject_outputs(
    runs bigint[], workflows bigint[], run_priorities integer[], indexes integer[], at timestamptz,
    out wrong_runs bigint[], out wrong_indexes integer[], out run_ids bigint[], out workflow_ids bigint[],
    out priorities integer[], out step_indexes integer[], out finished bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    words text[];
begin
    with wrong as (
        select distinct on (u.run_id, u.step_index) u.run_id, u.step_index, t.attempts, p.step_slug,
               format('{text:step_must_return_array}',
                      p.step_slug, m.step_slug) as message
        from unnest(runs, workflows, indexes) as u (run_id, workflow_id, step_index)
        join {schema}.flow_steps p on p.workflow_id = u.workflow_id and p.step_index = u.step_index
        join {schema}.tasks t on t.run_id = u.run_id and t.step_index = u.step_index and t.task_index = 0
        join {schema}.flow_deps d on d.workflow_id = u.workflow_id and d.dep_index = u.step_index
        join {schema}.flow_steps m on m.workflow_id = d.workflow_id and m.step_index = d.step_index
        join {schema}.steps s on s.run_id = u.run_id and s.step_id = m.step_slug and s.status = 'PENDING'
        where m.step_type = 'map' and p.step_type = 'single' and not {schema}.is_array(t.output)
          and {schema}.condition_verdict(format('{"%s":%s}', p.step_slug, t.output), m.required_input_pattern,
                                         m.forbidden_input_pattern) = 'met'
        order by u.run_id, u.step_index, m.step_index
    ),
    failed_tasks as (
        update {schema}.tasks t set status = 'ERROR', error = 'not_an_array: ' || w.message
        from wrong w
        where t.run_id = any(array[w.run_id]) and t.step_index = w.step_index and t.task_index = 0
        returning w.run_id, w.step_index, w.step_slug,
                  format('{"type":"not_an_array","message":%s,"step":"%s","attempt":%s}', to_json(w.message),
                         w.step_slug, w.attempts) as error
    ),
    failed_steps as (
        update {schema}.steps s set status = 'ERROR', remaining_tasks = 1, error = f.error
        from failed_tasks f
        where s.run_id = any(array[f.run_id]) and s.step_id = f.step_slug
        returning f.run_id, f.step_index, f.error
    )
    select array_agg(f.run_id), array_agg(f.step_index), array_agg(f.error) into wrong_runs, wrong_indexes, words
    from failed_steps f;
    if wrong_runs is not null then
        perform {schema}.fail_steps(wrong_runs, wrong_indexes, words, at);
    end if;
    select array_agg(u.run_id) filter (where not u.fails), array_agg(u.workflow_id) filter (where not u.fails),
           array_agg(u.priority) filter (where not u.fails), array_agg(u.step_index) filter (where not u.fails),
           array_agg(u.run_id)
    into run_ids, workflow_ids, priorities, step_indexes, finished
    from (
        select u.*, coalesce(u.run_id = any(wrong_runs), false) as fails
        from unnest(runs, workflows, run_priorities, indexes) as u (run_id, workflow_id, priority, step_index)
    ) u
    where wrong_runs is null or (u.run_id, u.step_index) not in (
        select w.run_id, w.step_index from unnest(wrong_runs, wrong_indexes) as w (run_id, step_index));
end
$$;
comment on function {schema}.reject_outputs is
    'Internal: fails steps, and their runs, whose output is not the array that a map needs.';

-- Batch form. With `wake` it notifies waiters; otherwise it returns what the caller has to notify after the commit. An
-- output that is not JSON gets the outcome `invalid`: stored, it would break every claim of tasks that depend on it.
create or replace function {schema}.complete_tasks(
    message_ids  bigint[],
    deliveries   integer[],
    run_ids      bigint[],
    step_slugs   text[],
    task_indexes integer[],
    outputs      text[],
    repeated     boolean default false,
    wake         boolean default true,
    out outcomes text[], out awaited bigint[], out ended bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at timestamptz := {schema}.clock();
    wrong  boolean[] := {schema}.invalid_json(coalesce(cardinality(message_ids), 0), outputs);
    held   record;
    result record;
begin
    if wrong is not null then  -- excluded, as if their leases did not hold
        deliveries := {schema}.valid_deliveries(deliveries, wrong);
    end if;
    if array_position(outputs, null) is not null then
        outputs := array_replace(outputs, null, 'null');
    end if;
    select * into held from {schema}.lock_task_leases(message_ids, deliveries, run_ids);
    delete from {schema}.messages m where m.ctid = any(held.tids);
    select * into result
    from {schema}.complete_held_tasks(
        case when not held.complete then
            array(select u.tid is not null from unnest(held.tids) with ordinality as u (tid, place) order by u.place)
        end,
        run_ids, held.workflows, held.priorities, held.step_indexes, held.task_indexes, outputs,
        now_at);
    ended := result.ended;
    queues := result.queues;
    awaited := {schema}.notify_flows(ended, queues, wake);
    outcomes := array_fill('done'::text, array[coalesce(cardinality(message_ids), 0)]);
    if not held.complete then
        outcomes := {schema}.task_outcomes(
            array(select case when u.tid is not null then 'done' end
                  from unnest(message_ids, held.tids) with ordinality as u (id, tid, place) order by u.place),
            message_ids, deliveries, run_ids, step_slugs, task_indexes, array['SUCCESS'], repeated);
    end if;
    if wrong is not null then
        outcomes := {schema}.mark_invalid(outcomes, wrong);
    end if;
end
$$;
comment on function {schema}.complete_tasks is
    'Completes leased tasks, by message and delivery; dependent steps start. Returns one outcome per item.';

create or replace function {schema}.complete_task(
    run_id bigint, step_slug text, task_index integer, output json, delivery integer default null
) returns text
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    task   record;
begin
    perform {schema}.require_json(output::text);  -- it becomes part of the input of other tasks
    select * into task from {schema}.lock_task(run_id, step_slug, task_index, delivery);
    if task.outcome is not null then
        return task.outcome;
    end if;
    perform {schema}.drop_call(run_id, step_slug, task_index, now_at);
    delete from {schema}.messages m where m.message_id = task.message_id;
    perform {schema}.notify_flows(c.ended, c.queues, true)
    from {schema}.complete_held_tasks(
        null, array[run_id], array[task.workflow_id], array[task.priority],
        array[task.step_index], array[task_index], array[coalesce(output::text, 'null')], now_at) c;
    return 'done';
end
$$;
comment on function {schema}.complete_task(bigint, text, integer, json, integer) is
    'Completes a running task. The last task of a step completes the step, and its dependents start. Returns the outcome.';
