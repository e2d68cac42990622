-- The history of a run: one ordered list, without duplicates, of what its rows show and of what only events have
-- recorded. src/model/history has the same kinds and order in C++.

-- Steps, tasks and events of a run as entries of its history. `part` orders entries with equal times: before, within
-- and after a step. `phase` orders the creation of a run, its deliveries and its end.
create or replace function {schema}.history_entries(run_id bigint) returns table (
    at timestamptz, phase integer, hand_out integer, place integer, part integer, task_index integer,
    kind text, step_id text, status text, attempt integer, delivery integer, worker_id bigint, data text,
    event_id bigint
)
language sql stable
as $$
    with run as materialized (
        select r.*, r.remaining_steps is not null as is_flow
        from {schema}.runs r where r.run_id = history_entries.run_id
    ),
    task as materialized (
        select t.* from {schema}.tasks t where t.run_id = history_entries.run_id
    ),
    step as materialized (
        select s.*, r.is_flow, case
                   when not r.is_flow then s.delivery = 0
                   else r.origin_run_id is not null and s.status in ('SUCCESS', 'SKIPPED')
                        and s.completed_at <= r.created_at
                        and not exists (select from task t where t.step_index = s.position and t.delivery > 0)
               end as taken_over,
               coalesce(s.error, s.output, '{"skip_reason":' || to_json(s.skip_reason) || '}', '{}') as result
        from {schema}.steps s cross join run r where s.run_id = history_entries.run_id
    )
    select r.created_at, 0, 0, -1, 0, -1, '{event:triggered}', null, 'QUEUED', 0, 0, null::bigint, r.input, null::bigint
    from run r
    union all
    select r.created_at, 0, 0, s.position, 1, -1, '{event:step_taken_over}', s.step_id, s.status, s.attempt, s.delivery,
           s.worker_id, s.result, null
    from run r cross join step s where s.taken_over
    union all
    select r.started_at, 1, case when r.is_flow then 0 else 1 end, -1, 0, -1, '{event:started}', null, 'RUNNING', 0,
           case when r.is_flow then 0 else 1 end, null, '{}', null
    from run r where r.started_at is not null
    union all
    select s.started_at, 1, s.delivery, s.position, 0, -1, '{event:step_started}', s.step_id,
           case when s.completed_at is null then s.status else 'RUNNING' end, s.attempt, s.delivery, s.worker_id,
           coalesce(s.input, '{}'), null
    from step s where not s.taken_over and s.started_at is not null
    union all
    select s.started_at, 1, s.delivery, s.position, 1, -1,
           case when s.wake_at is not null or coalesce(s.pause_message, '') = '' then '{event:suspended}' else '{event:paused}' end,
           s.step_id, s.status, s.attempt, s.delivery, s.worker_id,
           format('{"type":"pause","message":%s,"step":%s}', to_json(coalesce(s.pause_message, '')),
                  to_json(s.step_id::text)), null
    from step s
    where s.status = 'PAUSED' and not exists (
        select from {schema}.events e
        where e.run_id = history_entries.run_id and e.kind in ('{event:paused}', '{event:suspended}')
          and {schema}.json_member(e.data, 'step') = s.step_id
    )
    union all
    select s.completed_at, 1, s.delivery, s.position, 2, -1,
           case s.status when 'SUCCESS' then '{event:step_succeeded}' when 'ERROR' then '{event:step_failed}'
                         when 'SKIPPED' then '{event:step_skipped}' else '{event:step_cancelled}' end,
           s.step_id, s.status, coalesce(t.attempts, s.attempt), coalesce(t.delivery, s.delivery),
           coalesce(t.worker_id, s.worker_id), s.result, null
    from step s
    -- A step with a single task ends with it: only one of the two is listed.
    left join task t on s.is_flow and s.initial_tasks = 1 and t.step_index = s.position
        and t.status = s.status and t.completed_at = s.completed_at
    where not s.taken_over and s.completed_at is not null
    union all
    select x.at, 1, 0, s.position, 1, t.task_index, x.kind, s.step_id, x.status, t.attempts, t.delivery,
           t.worker_id, x.data, null
    from task t
    join step s on s.position = t.step_index and not s.taken_over
    cross join lateral (
        values (t.started_at, '{event:task_started}', 'RUNNING', coalesce(t.input, '{}')),
               (case when s.initial_tasks is distinct from 1 or t.status <> s.status
                          or t.completed_at is distinct from s.completed_at then t.completed_at end,
                case t.status when 'SUCCESS' then '{event:task_succeeded}' when 'ERROR' then '{event:task_failed}'
                              when 'SKIPPED' then '{event:task_skipped}' else '{event:task_cancelled}' end, t.status,
                case when t.status = 'ERROR' then to_json(t.error)::text else coalesce(t.output, '{}') end)
    ) x (at, kind, status, data)
    where x.at is not null
    union all
    select e.at,
           case when e.kind = '{event:triggered}' then 0
                when e.kind in ('{event:run_succeeded}', '{event:run_failed}', '{event:cancelled}', '{event:poison}', '{event:no_handler_registered}',
                                '{event:buried}') then 2
                when e.kind in ('{event:retried}', '{event:forked}', '{event:deleted}') then 3 else 1 end,
           case when r.is_flow then 0 else e.delivery end,
           coalesce(s.position, case when e.kind = '{event:started}' then -1 else 2147483647 end),
           case when e.kind in ('{event:step_succeeded}', '{event:step_failed}', '{event:step_skipped}') then 2 else 1 end,
           coalesce(d.task_index, -1), e.kind, s.step_id, null,
           coalesce(case when s.step_id is not null then d.attempt end, 0), e.delivery,
           e.worker_id, e.data, e.event_id
    from {schema}.events e
    cross join run r
    cross join lateral (
        select {schema}.json_member(o.data, 'step') as step,
               substring({schema}.json_member(o.data, 'task_index') from '^[0-9]{1,9}$')::integer as task_index,
               substring({schema}.json_member(o.data, 'attempt') from '^[0-9]{1,9}$')::integer as attempt
        from (
            select case when e.kind in ('{event:run_failed}', '{event:run_retry}', '{event:forked}') then '{}' else e.data end as data
        ) o
    ) d
    left join step s on s.step_id = d.step
    where e.run_id = history_entries.run_id
      and (e.kind = '{event:task_succeeded}' and s.initial_tasks = 1 and s.completed_at = e.at) is not true
    union all
    select r.completed_at, 2, 0, 2147483647, 1, -1,
           case r.status
               when 'SUCCESS' then '{event:run_succeeded}'
               when 'CANCELLED' then '{event:cancelled}'
               else coalesce((
                   select t.type from (select {schema}.json_member(r.error, 'type') as type) t
                   where t.type in ('{event:poison}', '{event:no_handler_registered}', '{event:buried}')
               ), '{event:run_failed}') end,
           null, r.status, 0, r.delivery, r.worker_id, coalesce(r.error, r.output), null
    from run r where r.completed_at is not null
    union all
    select r.deleted_at, 3, 0, 2147483647, 1, -1, '{event:deleted}', null, null, 0, r.delivery, null,
           format('{"reason":%s}', to_json(coalesce(r.deleted_reason, ''))), null
    from run r where r.deleted_at is not null
$$;
comment on function {schema}.history_entries is
    'Internal: the entries of a run''s history from rows and events, with duplicates.';

-- If a row and an event describe the same thing, the row is listed, with the worker and the delivery of the event.
create or replace function {schema}.run_history(run_id bigint) returns table (
    at timestamptz, kind text, step_id text, status text, attempt integer, delivery integer,
    worker_id bigint, data json
)
language sql stable
as $$
    with told as (
        select h.*, row_number() over same as nth,
               count(*) filter (where h.event_id is null) over same as rows_of_it,
               first_value(h.event_id) over same_events as its_event,
               first_value(h.worker_id) over same_events as its_worker,
               first_value(h.delivery) over same_events as its_delivery,
               first_value(h.data) over same_events as its_data
        from (
            select h.*, concat_ws('/', h.kind, h.step_id,
                                  case when h.kind <> '{event:step_skipped}' and h.task_index >= 0 then h.task_index end,
                                  case when h.kind = '{event:task_started}' then h.attempt end) as identity
            from {schema}.history_entries(run_history.run_id) h
        ) h
        window same as (partition by h.identity order by h.event_id nulls first
                        rows between unbounded preceding and unbounded following),
               same_events as (partition by h.identity order by h.event_id nulls last
                               rows between unbounded preceding and unbounded following)
    )
    select t.at, t.kind, t.step_id, t.status, nullif(t.attempt, 0),
           nullif(case when t.event_id is null and t.its_event is not null then t.its_delivery
                       else t.delivery end, 0),
           case when t.event_id is null then coalesce(t.worker_id, t.its_worker) else t.worker_id end,
           case when t.event_id is null and t.its_event is not null and t.kind in ('{event:cancelled}', '{event:deleted}')
                then t.its_data else t.data end::json
    from told t
    -- The first event is represented by the row.
    where t.event_id is null or t.rows_of_it = 0 or t.event_id <> t.its_event
    order by t.at, t.phase, t.hand_out, t.place, t.part, t.task_index, t.attempt,
             case when t.kind = '{event:task_started}' then 0
                  when t.kind in ('{event:resumed}', '{event:task_succeeded}', '{event:task_failed}', '{event:task_skipped}', '{event:task_cancelled}') then 2
                  else 1 end,
             coalesce(t.event_id, case when t.rows_of_it > 0 then t.its_event end, 0)
$$;
comment on function {schema}.run_history is
    'The history of a run in the order of time: its creation, start, steps, tasks, events and end.';
