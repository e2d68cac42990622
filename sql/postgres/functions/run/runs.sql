-- Lookups of runs.

-- The views ..._rows are read by the C++ library: they have JSON as text, without a cast. Other readers use ..._info.

-- One row per run. For a live run, delivery, strikes, attempts and visible_at are those of its message.
create or replace view {schema}.run_rows as
select r.run_id, q.name as workflow, r.status, r.priority, r.max_attempts,
       coalesce(m.delivery, r.delivery) as delivery, coalesce(m.strikes, 0) as strikes,
       coalesce(m.attempts, 0) as attempts, coalesce(m.worker_id, r.worker_id) as worker_id,
       r.parent_run_id, r.origin_run_id, r.forked_at, coalesce(r.idempotency_key, r.fire_key) as idempotency_key,
       array(select t.tag from {schema}.run_tags t where t.run_id = r.run_id order by t.tag) as tags,
       r.input, r.output, r.error, m.last_error, m.visible_at, r.created_at, r.updated_at, r.started_at,
       r.paused_at, r.completed_at, r.deleted_at, r.deleted_reason, r.remaining_steps
from {schema}.runs r
join {schema}.queues q on q.queue_id = r.workflow_id
left join {schema}.messages m on m.message_id = r.run_id;

-- called_run_id: the run for whose end a paused step waits (ctx.call).
create or replace view {schema}.step_rows as
select s.run_id, s.step_id, s.position, s.status, s.attempt, s.delivery, s.worker_id, s.started_at, s.completed_at,
       s.wake_at, s.pause_message, s.pause_condition, s.input, s.output, s.error, s.remaining_deps, s.initial_tasks,
       s.remaining_tasks, s.skip_reason,
       case when s.status = 'PAUSED' then
           (select c.run_id from {schema}.calls c
            where c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null)
       end as called_run_id
from {schema}.steps s;

create or replace view {schema}.step_info as
select s.run_id, s.step_id, s.position, s.status, s.attempt, s.delivery, s.worker_id, s.started_at, s.completed_at,
       s.wake_at, s.pause_message, s.pause_condition, s.input::json as input, s.output::json as output,
       s.error::json as error, s.remaining_deps, s.initial_tasks, s.remaining_tasks, s.skip_reason,
       case when s.status = 'PAUSED' then
           (select c.run_id from {schema}.calls c
            where c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null)
       end as called_run_id
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

-- View read by waiters: one row per run, no join.
create or replace view {schema}.run_ends as
select r.run_id, r.status, r.deleted_at, r.output from {schema}.runs r;

-- Stable, so that it is inlined into the caller's prepared plan: waiters call it often.
create or replace function {schema}.get_run(run_id bigint) returns setof {schema}.run_info
language sql stable
as $$ select i.* from {schema}.run_info i where i.run_id = get_run.run_id $$;
comment on function {schema}.get_run is 'Returns one run, including soft-deleted ones; no row if it does not exist.';

-- The server's estimate for the rows of a recursion is so high that it would JIT-compile the query.
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
    'The run, all runs from which it was retried or forked, and all runs created from these.';

create or replace function {schema}.list_steps(run_id bigint) returns setof {schema}.step_info
language sql stable
as $$
    select s.* from {schema}.step_info s where s.run_id = list_steps.run_id order by s.position, s.step_id
$$;
comment on function {schema}.list_steps is 'The recorded steps of a run, in its order.';

create or replace function {schema}.list_events(run_id bigint) returns setof {schema}.event_info
language sql stable
as $$ select e.* from {schema}.event_info e where e.run_id = list_events.run_id order by e.event_id $$;
comment on function {schema}.list_events is 'The events of a run, in order.';

-- Marks the run as awaited: the session that ends it sends a NOTIFY. The mark is not worth a flush to disk.
create or replace function {schema}.await_run(run_id bigint) returns void
language plpgsql
as $$
declare
    _ignored text;  -- see trigger_batch()
begin
    _ignored := set_config('synchronous_commit', 'off', true);
    insert into {schema}.awaited_runs (run_id, since)
    select r.run_id, {schema}.clock() from {schema}.runs r
    where r.run_id = await_run.run_id and r.completed_at is null
    on conflict do nothing;
end
$$;
comment on function {schema}.await_run is
    'Requests a NOTIFY (''run:<id>'') for the end of the run. Read the run after this call, then wait.';
