-- Events: what the rows of a run no longer show and, with `audit` = 'all', everything that happened to it. An event is
-- written by the transaction that it describes. Whether any workflow keeps 'all' events is looked up once per batch in
-- a partial index that is usually empty: see docs/decisions/0022.

create or replace function {schema}.keeps_all_events() returns boolean
language sql stable
as $$
    select exists (select from {schema}.workflows w where w.audit = 'all')
           or exists (select from {schema}.followed_runs)
$$;
comment on function {schema}.keeps_all_events is
    'Internal: whether any workflow, or any followed run, keeps all events.';

-- See run/follow.sql.
create or replace function {schema}.is_followed(run_id bigint) returns boolean
language sql stable
as $$ select exists (select from {schema}.followed_runs f where f.run_id = is_followed.run_id) $$;
comment on function {schema}.is_followed is 'Internal: whether the events of a run are sent by NOTIFY.';

-- For operations of users: adds the role that is logged in.
create or replace function {schema}.with_actor(data text) returns text
language sql stable
as $$
    select left(data, -1) || case when data = '{}' then '' else ',' end || '"by":' || to_json(session_user::text) || '}'
$$;
comment on function {schema}.with_actor is 'Internal: the data of an event with the role that caused it.';

-- The runs may belong to any workflows.
create or replace function {schema}.add_triggered(run_ids bigint[], at timestamptz) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select u.id, '{event:triggered}', '{}', 0, add_triggered.at
    from unnest(run_ids) with ordinality as u (id, place)
    cross join lateral (
        select r.workflow_id from {schema}.runs r where r.run_id = u.id offset 0
    ) r
    cross join lateral (
        select from {schema}.workflows w where w.workflow_id = r.workflow_id and w.audit = 'all' offset 0
    ) w
    order by u.place
$$;
comment on function {schema}.add_triggered is 'Internal: adds the events of new runs.';

-- For messages of runs that were just delivered.
create or replace function {schema}.add_starts(message_ids bigint[], worker_id bigint, at timestamptz) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select m.message_id, '{event:started}', '{}', add_starts.worker_id, m.delivery, add_starts.at
    from unnest(message_ids) as u (id)
    cross join lateral (
        select m.message_id, m.queue_id, m.delivery from {schema}.messages m
        where m.message_id = u.id and m.run_id is null offset 0
    ) m
    cross join lateral (
        select from {schema}.workflows w
        where w.workflow_id = m.queue_id and w.audit = 'all' and not w.is_flow offset 0
    ) w
    order by m.message_id
$$;
comment on function {schema}.add_starts is 'Internal: adds the events of runs that were delivered.';

-- For leases that ended without a report and whose messages were just delivered again. deliveries and workers are those
-- of the lost leases.
create or replace function {schema}.add_lost_leases(
    message_ids bigint[], deliveries integer[], workers bigint[], at timestamptz
) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select coalesce(m.run_id, m.message_id), '{event:lease_lost}', coalesce(t.data, '{}'), u.worker_id, u.delivery,
           add_lost_leases.at
    from unnest(message_ids, deliveries, workers) as u (id, delivery, worker_id)
    cross join lateral (
        select m.message_id, m.queue_id, m.run_id, m.step_index, m.task_index from {schema}.messages m
        where m.message_id = u.id and m.delivery = u.delivery + 1 offset 0
    ) m
    cross join lateral (
        select from {schema}.workflows w where w.workflow_id = m.queue_id and w.audit <> 'off' offset 0
    ) w
    left join lateral (
        select format('{"step":"%s","task_index":%s,"attempt":%s}', f.step_slug, t.task_index, t.attempts) as data
        from {schema}.tasks t
        join {schema}.flow_steps f on f.workflow_id = m.queue_id and f.step_index = t.step_index
        where t.run_id = m.run_id and t.step_index = m.step_index and t.task_index = m.task_index offset 0
    ) t on true
    order by m.message_id
$$;
comment on function {schema}.add_lost_leases is 'Internal: adds the events of leases that ended without a report.';

-- For tasks that have just been started or have succeeded.
create or replace function {schema}.add_task_events(
    event_kind text, run_ids bigint[], step_indexes integer[], task_indexes integer[], at timestamptz
) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select t.run_id, event_kind,
           format('{"step":"%s","task_index":%s,"attempt":%s}', f.step_slug, t.task_index, t.attempts),
           t.worker_id, t.delivery, add_task_events.at
    from unnest(run_ids, step_indexes, task_indexes) with ordinality as u (run_id, step_index, task_index, place)
    cross join lateral (
        select t.run_id, t.step_index, t.task_index, t.attempts, t.worker_id, t.delivery from {schema}.tasks t
        where t.run_id = u.run_id and t.step_index = u.step_index and t.task_index = u.task_index offset 0
    ) t
    cross join lateral (
        select r.workflow_id from {schema}.runs r where r.run_id = t.run_id offset 0
    ) r
    cross join lateral (
        select from {schema}.workflows w
        where w.workflow_id = r.workflow_id and (w.audit = 'all' or {schema}.is_followed(t.run_id)) offset 0
    ) w
    cross join lateral (
        select f.step_slug from {schema}.flow_steps f
        where f.workflow_id = r.workflow_id and f.step_index = t.step_index offset 0
    ) f
    order by u.place
$$;
comment on function {schema}.add_task_events is 'Internal: adds the events of tasks.';

-- The same by their messages, which the caller has locked.
create or replace function {schema}.add_task_starts(message_ids bigint[], at timestamptz) returns void
language sql
as $$
    select {schema}.add_task_events(
        '{event:task_started}', array_agg(m.run_id), array_agg(m.step_index), array_agg(m.task_index), add_task_starts.at)
    from unnest(message_ids) as u (id)
    cross join lateral (
        select m.run_id, m.step_index, m.task_index, m.delivery from {schema}.messages m
        where m.message_id = u.id and m.state || '' = 'leased' offset 0
    ) m
    cross join lateral (
        select from {schema}.tasks t
        where t.run_id = m.run_id and t.step_index = m.step_index and t.task_index = m.task_index
          and t.status = 'RUNNING' and t.delivery = m.delivery offset 0
    ) t
    having count(*) > 0
$$;
comment on function {schema}.add_task_starts is 'Internal: adds the events of tasks that were delivered.';

-- For steps recorded by this transaction: events that the holder reports. A step that this delivery could not record
-- has no event, and a repeated commit does not add it again.
create or replace function {schema}.add_step_events(
    run_ids bigint[], deliveries integer[], step_ids text[], statuses text[], event_kinds text[],
    event_data text[], repeated boolean default false
) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    perform {schema}.check_json('event_data', array_replace(event_data, '', null));
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select n.run_id, n.kind, coalesce(nullif(n.data, ''), '{}'), s.worker_id, n.delivery, now_at
    from unnest(run_ids, deliveries, step_ids, statuses, event_kinds, event_data) with ordinality
        as n (run_id, delivery, step_id, status, kind, data, place)
    cross join lateral (
        select s.worker_id from {schema}.steps s
        where s.run_id = n.run_id and s.step_id = n.step_id and s.delivery = n.delivery and s.status = n.status
        offset 0
    ) s
    where n.kind <> '' and (repeated is not true or not exists (
        select from {schema}.events e
        where e.run_id = n.run_id and e.kind = n.kind and e.delivery = n.delivery
          and {schema}.json_member(e.data, 'step') = n.step_id
        offset 0
    ))
    order by n.place;
end
$$;
comment on function {schema}.add_step_events is
    'Adds the events of steps that the same transaction has recorded with record_steps.';
