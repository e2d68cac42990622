-- Runs: look-ups, and what people do to them.

-- The views ..._rows are what the C++ library reads: JSON as text, which is not parsed. Others read ..._info.

-- Everything about a run in one row. delivery, strikes, attempts and visible_at of a live one are its
-- message's.
create or replace view {schema}.run_rows as
select r.run_id, q.name as workflow, r.status, r.priority, r.max_attempts,
       coalesce(m.delivery, r.delivery) as delivery, coalesce(m.strikes, 0) as strikes,
       coalesce(m.attempts, 0) as attempts, coalesce(m.worker_id, r.worker_id) as worker_id,
       r.parent_run_id, r.origin_run_id, r.forked_at, r.idempotency_key,
       array(select t.tag from {schema}.run_tags t where t.run_id = r.run_id order by t.tag) as tags,
       r.input, r.output, r.error, m.last_error, m.visible_at, r.created_at, r.updated_at, r.started_at,
       r.paused_at, r.completed_at, r.deleted_at, r.deleted_reason, r.remaining_steps
from {schema}.runs r
join {schema}.queues q on q.queue_id = r.workflow_id
left join {schema}.messages m on m.message_id = r.run_id;

create or replace view {schema}.step_rows as
select s.run_id, s.step_id, s.position, s.status, s.attempt, s.delivery, s.worker_id, s.started_at, s.completed_at,
       s.wake_at, s.pause_message, s.pause_condition, s.input, s.output, s.error, s.remaining_deps, s.initial_tasks,
       s.remaining_tasks, s.skip_reason
from {schema}.steps s;

create or replace view {schema}.step_info as
select s.run_id, s.step_id, s.position, s.status, s.attempt, s.delivery, s.worker_id, s.started_at, s.completed_at,
       s.wake_at, s.pause_message, s.pause_condition, s.input::json as input, s.output::json as output,
       s.error::json as error, s.remaining_deps, s.initial_tasks, s.remaining_tasks, s.skip_reason
from {schema}.steps s;

create or replace view {schema}.event_rows as
select e.event_id, e.run_id, e.kind, e.data, e.worker_id, e.delivery, e.at from {schema}.events e;

create or replace view {schema}.event_info as
select e.event_id, e.run_id, e.kind, e.data::json as data, e.worker_id, e.delivery, e.at from {schema}.events e;

create or replace view {schema}.run_info as
select r.run_id, r.workflow, r.status, r.priority, r.max_attempts, r.delivery, r.strikes, r.attempts, r.worker_id,
       r.parent_run_id, r.origin_run_id, r.forked_at, r.idempotency_key, r.tags, r.input::json as input,
       r.output::json as output, r.error::json as error, r.last_error, r.visible_at, r.created_at, r.updated_at,
       r.started_at, r.paused_at, r.completed_at, r.deleted_at, r.deleted_reason, r.remaining_steps
from {schema}.run_rows r;

-- What who waits for a run looks at: one row of one table.
create or replace view {schema}.run_ends as
select r.run_id, r.status, r.deleted_at, r.output from {schema}.runs r;

-- Stable, so that it becomes part of the caller's prepared plan: who waits for a run asks it often.
create or replace function {schema}.get_run(run_id bigint) returns setof {schema}.run_info
language sql stable
as $$ select i.* from {schema}.run_info i where i.run_id = get_run.run_id $$;
comment on function {schema}.get_run is 'One run, soft-deleted ones too; no row where there is none.';

-- What list_runs and count_runs ask of a run; what is null is no condition. It is expanded into their
-- statements, which are planned anew for each call (force_custom_plan): the planner sees the values, folds
-- away what was not asked, and finds the partial index that serves the rest. That is what the lines about
-- completed_at and error are for.
create or replace function {schema}.run_matches(
    run {schema}.runs, status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean
) returns boolean
language sql stable
as $$
    select (run_matches.status is null or run.status = run_matches.status)
       and ((run_matches.status in ('QUEUED', 'RUNNING', 'PAUSED')) is not true or run.completed_at is null)
       and ((run_matches.status in ('ERROR', 'CANCELLED')) is not true or run.error is not null)
       and (run_matches.created_from is null or run.created_at >= run_matches.created_from)
       and (run_matches.created_before is null or run.created_at < run_matches.created_before)
       and (run_matches.idempotency_key is null or run.idempotency_key = run_matches.idempotency_key)
       and (run_matches.include_deleted or run.deleted_at is null)
$$;
comment on function {schema}.run_matches is 'Internal: whether a run is one that is asked for.';

-- Where a partial index holds few runs of each workflow, the newest of each are merged. Stable: its statements
-- see one moment, so that only the last page is short, whatever is pruned meanwhile.
create or replace function {schema}.find_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false,
    before_run      bigint default null,
    max_rows        integer default 100
) returns bigint[]
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
declare
    wanted bigint := coalesce((select q.queue_id from {schema}.queues q where q.name = find_runs.workflow), 0);
begin
    perform {schema}.page_size(max_rows);
    perform {schema}.check_range('before_run', before_run, 0, 9223372036854775807);
    if tag is not null then
        return array(
            select r.run_id from {schema}.run_tags t join {schema}.runs r using (run_id)
            where t.tag = find_runs.tag and (find_runs.workflow is null or r.workflow_id = wanted)
              and {schema}.run_matches(
                  r, find_runs.status, created_from, created_before, find_runs.idempotency_key, include_deleted)
              and (before_run is null or t.run_id < before_run)
            order by t.run_id desc limit max_rows
        );
    elsif workflow is not null then
        -- In the order of the indexes that begin with the workflow.
        return array(
            select r.run_id from {schema}.runs r
            where r.workflow_id = wanted
              and {schema}.run_matches(
                  r, find_runs.status, created_from, created_before, find_runs.idempotency_key, include_deleted)
              and (before_run is null or -r.run_id > -before_run)
            order by -r.run_id limit max_rows
        );
    elsif idempotency_key is not null or status <> 'SUCCESS' then
        return array(
            select n.run_id from {schema}.workflows w
            cross join lateral (
                select r.run_id from {schema}.runs r
                where r.workflow_id = w.workflow_id
                  and {schema}.run_matches(
                      r, find_runs.status, created_from, created_before, find_runs.idempotency_key,
                      include_deleted)
                  and (before_run is null or -r.run_id > -before_run)
                order by -r.run_id limit max_rows
            ) n
            order by n.run_id desc limit max_rows
        );
    else
        return array(
            select r.run_id from {schema}.runs r
            where {schema}.run_matches(
                  r, find_runs.status, created_from, created_before, find_runs.idempotency_key, include_deleted)
              and (before_run is null or r.run_id < before_run)
            order by r.run_id desc limit max_rows
        );
    end if;
end
$$;
comment on function {schema}.find_runs is 'The ids of the runs that list_runs lists, newest first.';

create or replace function {schema}.list_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false,
    before_run      bigint default null,
    max_rows        integer default 100
) returns setof {schema}.run_info
language plpgsql stable
as $$
declare
    ids bigint[] := {schema}.find_runs(
        workflow, status, created_from, created_before, tag, idempotency_key, include_deleted, before_run, max_rows);
begin
    return query
    select i.* from unnest(ids) as u (id) join {schema}.run_info i on i.run_id = u.id
    order by i.run_id desc;
end
$$;
comment on function {schema}.list_runs is
    'Runs for which all that is given holds, newest first; the next page: the last id as before_run.';

create or replace function {schema}.count_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false
) returns table (run_status text, runs bigint)
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
    wanted bigint := coalesce((select q.queue_id from {schema}.queues q where q.name = count_runs.workflow), 0);
begin
    if tag is null then
        return query
        select r.status, count(*) from {schema}.runs r
        where (count_runs.workflow is null or r.workflow_id = wanted)
          and {schema}.run_matches(
              r, count_runs.status, created_from, created_before, count_runs.idempotency_key, include_deleted)
        group by r.status;
    else
        return query
        select r.status, count(*) from {schema}.run_tags t join {schema}.runs r using (run_id)
        where t.tag = count_runs.tag and (count_runs.workflow is null or r.workflow_id = wanted)
          and {schema}.run_matches(
              r, count_runs.status, created_from, created_before, count_runs.idempotency_key, include_deleted)
        group by r.status;
    end if;
end
$$;
comment on function {schema}.count_runs is 'How many runs there are of each status, of those listed.';

-- How many rows a recursion brings nobody can know: the server believes in so many that it would compile it.
create or replace function {schema}.lineage(run_id bigint) returns setof {schema}.run_info
language sql
set jit = off
as $$
    with recursive ancestors (id) as (
        select lineage.run_id
        union
        select r.origin_run_id from ancestors a join {schema}.runs r on r.run_id = a.id
        where r.origin_run_id is not null
    ),
    family (id) as (
        select a.id from ancestors a
        union
        select r.run_id from family f join {schema}.runs r on r.origin_run_id = f.id
    )
    select i.* from family f join {schema}.run_info i on i.run_id = f.id order by i.run_id
$$;
comment on function {schema}.lineage is
    'The run with all it was retried or forked from, and all that was made from these.';

create or replace function {schema}.list_steps(run_id bigint) returns setof {schema}.step_info
language sql stable
as $$
    select s.* from {schema}.step_info s where s.run_id = list_steps.run_id order by s.position, s.step_id
$$;
comment on function {schema}.list_steps is 'The recorded steps of a run, in its order.';

create or replace function {schema}.list_events(run_id bigint) returns setof {schema}.event_info
language sql stable
as $$ select e.* from {schema}.event_info e where e.run_id = list_events.run_id order by e.event_id $$;
comment on function {schema}.list_events is 'What happened to a run, in order.';

-- Somebody waits for the end of the run: whoever ends it sends a NOTIFY. Not worth a flush to disk.
create or replace function {schema}.await_run(run_id bigint) returns void
language plpgsql
as $$
declare
    nothing text;  -- see trigger_batch()
begin
    nothing := set_config('synchronous_commit', 'off', true);
    insert into {schema}.awaited_runs (run_id, since)
    select r.run_id, {schema}.clock() from {schema}.runs r
    where r.run_id = await_run.run_id and r.completed_at is null
    on conflict do nothing;
end
$$;
comment on function {schema}.await_run is
    'Asks for a NOTIFY (''run:<id>'') when the run ends; look at the run after that call, then wait.';
