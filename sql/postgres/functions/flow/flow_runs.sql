-- Runs of flows: start, lookup and operations.

create or replace function {schema}.is_flow_run(run_id bigint) returns boolean
language sql stable
as $$
    select exists (
        select from {schema}.runs r where r.run_id = is_flow_run.run_id and r.remaining_steps is not null
    )
$$;
comment on function {schema}.is_flow_run is 'Internal: whether a run belongs to a flow.';

-- Runs of flows, as start_flow returns them.
create or replace view {schema}.flow_runs as
select r.run_id, q.name as flow_slug, r.status, r.input::json as input, r.output::json as output,
       r.remaining_steps
from {schema}.runs r join {schema}.queues q on q.queue_id = r.workflow_id
where r.remaining_steps is not null;

-- Steps of runs of flows, with a time for each status that they can reach.
create or replace view {schema}.step_states as
select q.name as flow_slug, s.run_id, s.step_id as step_slug, s.position as step_index, s.status,
       s.remaining_deps, s.initial_tasks, s.remaining_tasks, r.created_at, s.started_at,
       case when s.status = 'SUCCESS' then s.completed_at end as completed_at,
       case when s.status = 'ERROR' then s.completed_at end as failed_at,
       case when s.status = 'SKIPPED' then s.completed_at end as skipped_at,
       case when s.status = 'CANCELLED' then s.completed_at end as cancelled_at,
       s.skip_reason, s.error::json as error, s.output::json as output
from {schema}.steps s
join {schema}.runs r on r.run_id = s.run_id
join {schema}.queues q on q.queue_id = r.workflow_id
where r.remaining_steps is not null;

create or replace view {schema}.task_states as
select q.name as flow_slug, t.run_id, f.step_slug, t.step_index, t.task_index, t.message_id as msg_id, t.status,
       t.attempts, t.delivery, t.worker_id, t.queued_at, t.started_at,
       case when t.status = 'SUCCESS' then t.completed_at end as completed_at,
       case when t.status = 'ERROR' then t.completed_at end as failed_at,
       case when t.status = 'SKIPPED' then t.completed_at end as skipped_at,
       case when t.status = 'CANCELLED' then t.completed_at end as cancelled_at,
       t.error as error_message, t.input::json as input, t.output::json as output
from {schema}.tasks t
join {schema}.runs r on r.run_id = t.run_id
join {schema}.queues q on q.queue_id = r.workflow_id
join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = t.step_index;

create or replace function {schema}.list_tasks(run_id bigint) returns setof {schema}.task_states
language sql stable
as $$
    select t.* from {schema}.task_states t where t.run_id = list_tasks.run_id
    order by t.step_index, t.task_index
$$;
comment on function {schema}.list_tasks is
    'The tasks of a run of a flow, in the order of its steps; includes tasks that have ended.';

-- All or nothing. The arrays are aligned, as in trigger_batch().
create or replace function {schema}.start_flows(
    flow_slugs       text[],
    inputs           json[],
    priorities       integer[] default null,
    delays_ms        bigint[] default null,
    ats              timestamptz[] default null,
    idempotency_keys text[] default null,
    max_attempts     integer[] default null,
    parent_run_ids   bigint[] default null,
    tag_places       integer[] default null,
    tags             text[] default null
) returns setof {schema}.flow_runs
language plpgsql
as $$
declare
    texts text[] := array(
        select coalesce(u.input::text, 'null')
        from unnest(flow_slugs, inputs) with ordinality as u (slug, input, place) order by u.place);
    made  bigint[];
    runs  {schema}.flow_runs[];
    gone  integer[];
    i     integer;
begin
    perform {schema}.flow_id(u.slug) from (select distinct unnest(flow_slugs) as slug) u;
    made := ({schema}.trigger_batch(
        flow_slugs, texts, priorities, delays_ms, ats, idempotency_keys, max_attempts, parent_run_ids, tag_places,
        tags
    )).run_ids;
    loop
        select array_agg(f order by u.place) filter (where f.run_id is not null),
               array_agg(u.place) filter (where r.run_id is null)
        into runs, gone
        from unnest(made) with ordinality as u (id, place)
        left join {schema}.runs r on r.run_id = u.id
        left join {schema}.flow_runs f on f.run_id = u.id;
        exit when gone is null;
        -- The runs found by their keys had ended and were pruned in the meantime: the keys are free now.
        foreach i in array gone loop
            made[i] := ({schema}.trigger_batch(
                flow_slugs[i:i], texts[i:i], priorities[i:i], delays_ms[i:i], ats[i:i], idempotency_keys[i:i],
                max_attempts[i:i], parent_run_ids[i:i],
                array(select 1 from unnest(tag_places) p where p = i),
                array(select t.tag from unnest(tag_places, tags) as t (place, tag) where t.place = i)
            )).run_ids[1];
        end loop;
    end loop;
    return query select f.* from unnest(runs) f;
end
$$;
comment on function {schema}.start_flows is 'Starts runs of flows, all or nothing; returns them in order.';

create or replace function {schema}.start_flow(
    flow_slug       text,
    input           json default 'null',
    priority        integer default 0,
    delay_ms        bigint default 0,
    at              timestamptz default null,
    idempotency_key text default null,
    max_attempts    integer default null,
    parent_run_id   bigint default null,
    tags            text[] default '{}'
) returns setof {schema}.flow_runs
language sql
as $$
    select * from {schema}.start_flows(
        array[flow_slug], array[input], array[priority], array[delay_ms], array[at], array[idempotency_key],
        array[max_attempts], array[parent_run_id], array_fill(1, array[coalesce(cardinality(tags), 0)]), tags
    )
$$;
comment on function {schema}.start_flow(text, json, integer, bigint, timestamptz, text, integer, bigint, text[]) is
    'Starts a run of a flow and returns it, or returns the existing run with the same idempotency key.';

-- wake() for a run of a flow: its waiting tasks can be claimed now. Tasks that wait for runs are RUNNING and are not
-- affected.
create or replace function {schema}.make_tasks_visible(run_id bigint, workflow_id bigint, at timestamptz)
returns boolean
language plpgsql
as $$
begin
    update {schema}.messages m
    set state = case when m.strikes > 0 then 'waiting' else 'ready' end,
        visible_at = least(m.visible_at, make_tasks_visible.at)
    where m.message_id = any(array(
              select t.message_id from {schema}.tasks t
              where t.run_id = make_tasks_visible.run_id and t.status = 'QUEUED'
          ))
      and m.state || '' = 'waiting';
    if found then
        perform pg_notify('pawl_{schema_name}', make_tasks_visible.workflow_id::text);
        return true;
    end if;
    return false;
end
$$;
comment on function {schema}.make_tasks_visible is
    'Internal: makes the waiting tasks of a run of a flow claimable now.';

-- copy_run() for a run of a flow: finished steps are copied with their tasks, the others are executed again.
create or replace function {schema}.copy_flow_run(
    origin bigint, workflow_id bigint, forked_at text, before_position integer, at timestamptz
) returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
    made    bigint := nextval('{schema}.messages_message_id_seq');
    skipped bigint[];
    ready   record;
    special record;
begin
    insert into {schema}.runs
        (run_id, workflow_id, status, priority, max_attempts, parent_run_id, origin_run_id, forked_at,
         created_at, updated_at, input, remaining_steps)
    select made, r.workflow_id, 'QUEUED', r.priority, r.max_attempts, r.parent_run_id, r.run_id,
           copy_flow_run.forked_at, copy_flow_run.at, copy_flow_run.at, r.input, (
               select count(*) from {schema}.steps s
               where s.run_id = origin and not (s.status in ('SUCCESS', 'SKIPPED')
                                                and s.position < coalesce(before_position, s.position + 1))
           )
    from {schema}.runs r where r.run_id = origin;
    perform {schema}.add_triggered(array[made], at);
    insert into {schema}.run_tags (tag, run_id)
    select t.tag, made from {schema}.run_tags t where t.run_id = origin;
    insert into {schema}.steps
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, output,
         error, remaining_deps, initial_tasks, remaining_tasks, skip_reason)
    select made, s.step_id, s.position, s.status, s.attempt, 0, s.worker_id, s.started_at, s.completed_at,
           s.output, s.error, s.remaining_deps, s.initial_tasks, s.remaining_tasks, s.skip_reason
    from {schema}.steps s
    where s.run_id = origin and s.status in ('SUCCESS', 'SKIPPED')
      and s.position < coalesce(before_position, s.position + 1);
    insert into {schema}.tasks
        (run_id, step_index, task_index, message_id, status, attempts, worker_id, queued_at, started_at,
         completed_at, input, output, error)
    select made, t.step_index, t.task_index, t.message_id, t.status, t.attempts, t.worker_id, t.queued_at,
           t.started_at, t.completed_at, t.input, t.output, t.error
    from {schema}.steps s
    join {schema}.tasks t on t.run_id = origin and t.step_index = s.position
    where s.run_id = made;
    insert into {schema}.steps (run_id, step_id, position, status, attempt, delivery, remaining_deps)
    select made, s.step_id, s.position, 'PENDING', 0, 0, (
               select count(*)
               from {schema}.flow_deps d
               join {schema}.flow_steps f on f.workflow_id = d.workflow_id and f.step_index = d.dep_index
               where d.workflow_id = copy_flow_run.workflow_id and d.step_index = s.position
                 and not exists (
                     select from {schema}.steps o where o.run_id = made and o.step_id = f.step_slug
                 )
           )
    from {schema}.steps s
    where s.run_id = origin and not exists (
        select from {schema}.steps o where o.run_id = made and o.step_id = s.step_id
    );
    skipped := {schema}.cascade_copied_skips(made, copy_flow_run.workflow_id, at);

    select array_agg(made) as runs, array_agg(copy_flow_run.workflow_id) as workflows,
           array_agg(r.priority) as priorities, array_agg(
               s.position order by not {schema}.is_plain_step(f.step_type, f.required_input_pattern,
                                                              f.forbidden_input_pattern), s.position) as indexes
    into ready
    from {schema}.steps s
    join {schema}.runs r on r.run_id = s.run_id
    join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = s.position
    where s.run_id = made and s.status = 'PENDING' and s.remaining_deps = 0;
    if ready.runs is not null then
        select * into special
        from {schema}.start_conditional_steps(ready.runs, ready.workflows, ready.priorities, ready.indexes, null, at);
        special.finished := skipped || special.finished;
        perform {schema}.finish_conditional_steps(special, at);
    else
        perform {schema}.advance_runs('{}', '{}', '{}', '{}', skipped, false, at);
    end if;
    perform pg_notify('pawl_{schema_name}', copy_flow_run.workflow_id::text);
    return made;
end
$$;
comment on function {schema}.copy_flow_run is
    'Internal: creates a run of a flow that copies the finished steps of another run.';

-- If a copied step was skipped with cascade, its dependents in the new run are skipped too.
create or replace function {schema}.cascade_copied_skips(run_id bigint, workflow_id bigint, at timestamptz)
returns bigint[]
language sql
as $$
    select {schema}.skip_dependents(
        array_agg(s.run_id), array_agg(f.workflow_id), array_agg(f.step_index), cascade_copied_skips.at)
    from {schema}.steps s
    join {schema}.flow_steps f on f.workflow_id = cascade_copied_skips.workflow_id and f.step_index = s.position
    where s.run_id = cascade_copied_skips.run_id and s.status = 'SKIPPED'
      and case s.skip_reason when 'condition_unmet' then f.when_unmet = 'skip-cascade'
                             when 'handler_failed' then f.when_exhausted = 'skip-cascade'
                             else true end
$$;
comment on function {schema}.cascade_copied_skips is
    'Internal: skips the dependents of skipped steps that a new run has copied.';

-- fail_unhandled() for a flow: fails runs of which no task has been started.
create or replace function {schema}.fail_unhandled_flow(
    flow bigint, flow_slug text, most integer, at timestamptz
) returns bigint[]
language plpgsql
as $$
declare
    candidates bigint[];
    blocked    bigint[];
begin
    candidates := array(
        select m.run_id from {schema}.messages m
        where m.queue_id = flow and m.state = 'ready' and m.delivery = 0
        order by -m.priority, m.message_id limit most
    );
    candidates := candidates || array(
        select m.run_id from {schema}.messages m
        where m.queue_id = flow and m.state <> 'ready' and m.visible_at <= fail_unhandled_flow.at
          and m.delivery = 0
        order by m.visible_at limit most
    );
    candidates := array(
        select r.run_id
        from (select distinct u as id from unnest(candidates) u order by u limit most) u
        cross join lateral (
            select r.run_id from {schema}.runs r
            where r.run_id = u.id and r.status = 'QUEUED'
            for update skip locked
        ) r
    );
    if {schema}.has_live_handler(flow_slug) then  -- as in fail_unhandled()
        return '{}';
    end if;
    candidates := {schema}.lock_endable_runs(candidates);
    if cardinality(candidates) = 0 then
        return candidates;
    end if;
    blocked := {schema}.lock_siblings(
        array_fill('fail'::text, array[cardinality(candidates)]), candidates, null, false);
    candidates := array(select u from unnest(candidates) u where u <> all(blocked));
    if cardinality(candidates) > 0 then
        perform {schema}.fail_flow_runs(
            candidates,
            array_fill(format('{"type":"{event:no_handler_registered}","message":%s}',
                              to_json(format('{text:no_live_handler}', flow_slug))),
                       array[cardinality(candidates)]),
            '{event:no_handler_registered}', at);
        perform {schema}.take_waiters(candidates, true);
    end if;
    return candidates;
end
$$;
comment on function {schema}.fail_unhandled_flow is
    'Internal: fails runs of a flow for which no live worker has handlers.';
