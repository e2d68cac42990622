-- Runs: look-ups, and what people do to them.

-- Everything about a run in one row. delivery, strikes, attempts and visible_at of a live one are its
-- message's.
create or replace view {schema}.run_info as
select r.run_id, q.name as workflow, r.status, r.priority, r.max_attempts,
       coalesce(m.delivery, r.delivery) as delivery, coalesce(m.strikes, 0) as strikes,
       coalesce(m.attempts, 0) as attempts, coalesce(m.worker_id, r.worker_id) as worker_id,
       r.parent_run_id, r.origin_run_id, r.forked_at, r.idempotency_key,
       array(select t.tag from {schema}.run_tags t where t.run_id = r.run_id order by t.tag) as tags,
       r.input, r.output, r.error, m.last_error, m.visible_at, r.created_at, r.updated_at, r.started_at,
       r.paused_at, r.completed_at, r.deleted_at, r.deleted_reason
from {schema}.runs r
join {schema}.queues q on q.queue_id = r.workflow_id
left join {schema}.messages m on m.message_id = r.run_id;

-- Stable, so that it becomes part of the caller's prepared plan: who waits for a run asks it often.
create or replace function {schema}.get_run(run_id bigint) returns setof {schema}.run_info
language sql stable
as $$ select i.* from {schema}.run_info i where i.run_id = get_run.run_id $$;
comment on function {schema}.get_run is 'One run, soft-deleted ones too; no row where there is none.';

-- Conditions on `runs r`, with what lets the planner see the partial index that serves them. What is
-- null is no condition.
create or replace function {schema}.run_conditions(
    workflow text, status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean
) returns text
language sql stable
as $$
    select concat(
        'true',
        case when workflow is not null then ' and r.workflow_id = ' || coalesce(
            (select q.queue_id from {schema}.queues q where q.name = workflow), 0) end,
        ' and r.status = ' || quote_literal(status),
        case when status in ('QUEUED', 'RUNNING', 'PAUSED') then ' and r.completed_at is null'
             when status in ('ERROR', 'CANCELLED') then ' and r.error is not null' end,
        ' and r.created_at >= ' || quote_literal(created_from) || '::timestamptz',
        ' and r.created_at < ' || quote_literal(created_before) || '::timestamptz',
        ' and r.idempotency_key = ' || quote_literal(idempotency_key),
        case when not include_deleted then ' and r.deleted_at is null' end
    )
$$;

-- The statement is put together from what is given, and planned for just that. Where a partial index
-- holds few runs of each workflow, the newest of each are merged.
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
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
    conditions text := {schema}.run_conditions(
        workflow, status, created_from, created_before, idempotency_key, include_deleted);
    newest     text := concat(' and r.run_id < ' || before_run, ' order by r.run_id desc limit ', max_rows);
    -- The same, in the order of the indexes that begin with the workflow.
    newest_of_workflow text := concat(
        ' and -r.run_id > -(' || before_run || ')', ' order by -r.run_id limit ', max_rows);
    ids        bigint[];
begin
    if tag is not null then
        execute format(
            'select array(select r.run_id from {schema}.run_tags t join {schema}.runs r using (run_id)
                          where t.tag = %L and %s %s)', tag, conditions, newest) into ids;
    elsif workflow is null and (idempotency_key is not null or status <> 'SUCCESS') then
        execute format(
            'select array(select r.run_id from {schema}.workflows w cross join lateral (
                              select r.run_id from {schema}.runs r
                              where r.workflow_id = w.workflow_id and %s %s
                          ) r order by r.run_id desc limit %s)', conditions, newest_of_workflow, max_rows)
            into ids;
    else
        execute format('select array(select r.run_id from {schema}.runs r where %s %s)', conditions,
                       case when workflow is null then newest else newest_of_workflow end)
            into ids;
    end if;
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
as $$
begin
    return query execute format(
        'select r.status, count(*) from {schema}.runs r where %s %s group by r.status',
        {schema}.run_conditions(
            workflow, status, created_from, created_before, idempotency_key, include_deleted),
        ' and r.run_id in (select t.run_id from {schema}.run_tags t where t.tag = ' || quote_literal(tag) || ')'
    );
end
$$;
comment on function {schema}.count_runs is 'How many runs there are of each status, of those listed.';

create or replace function {schema}.lineage(run_id bigint) returns setof {schema}.run_info
language sql
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

create or replace function {schema}.list_steps(run_id bigint) returns setof {schema}.steps
language sql
as $$
    select s.* from {schema}.steps s where s.run_id = list_steps.run_id order by s.position, s.step_id
$$;
comment on function {schema}.list_steps is 'The recorded steps of a run, in its order.';

create or replace function {schema}.list_events(run_id bigint) returns setof {schema}.events
language sql
as $$ select e.* from {schema}.events e where e.run_id = list_events.run_id order by e.event_id $$;
comment on function {schema}.list_events is 'What happened to a run, in order.';

-- Somebody waits for the end of the run: whoever ends it sends a NOTIFY. Not worth a flush to disk.
create or replace function {schema}.await_run(run_id bigint) returns void
language plpgsql
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    insert into {schema}.awaited_runs (run_id, since)
    select r.run_id, {schema}.clock() from {schema}.runs r
    where r.run_id = await_run.run_id and r.completed_at is null
    on conflict do nothing;
end
$$;
comment on function {schema}.await_run is
    'Asks for a NOTIFY (''run:<id>'') when the run ends; look at the run after that call, then wait.';
