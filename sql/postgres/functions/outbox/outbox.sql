-- The outbox: events that commit with the changes that they describe. See outbox/outbox_dispatch.sql for their
-- delivery.

-- The same bounds as in src/model/check_outbox.cpp.
create or replace function {schema}.check_outbox(
    types text[], payloads text[], aggregates text[], subjects text[], traceparents text[], event_ids text[]
) returns void
language plpgsql stable
as $$
declare
    wrong text;
begin
    select case when n.type is null or octet_length(n.type) not between 1 and {rule:max_event_type_bytes}
                then format('{text:bytes_of_text}', 'an event''s type', {rule:max_event_type_bytes})
                when n.payload is null then 'there must be a payload for each of the events'
                when octet_length(n.aggregate) > {rule:max_aggregate_bytes} or octet_length(n.subject) > {rule:max_aggregate_bytes}
                then 'an aggregate or subject must have at most {rule:max_aggregate_bytes} bytes'
                when octet_length(n.event_id) not between 1 and {rule:max_event_type_bytes}
                then format('{text:bytes_of_text}', 'an event''s id', {rule:max_event_type_bytes})
                when n.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
                then '{text:traceparent}'
           end as reason
    into wrong
    from unnest(types, payloads, aggregates, subjects, traceparents, event_ids)
        as n (type, payload, aggregate, subject, traceparent, event_id)
    order by reason nulls last limit 1;
    if wrong is not null then
        raise exception '%', wrong using errcode = 'PW003';
    end if;
    perform {schema}.check_json('payloads', payloads);
end
$$;
comment on function {schema}.check_outbox is 'Internal: raises if an event cannot be published.';

-- The arrays are aligned. A missing event id is generated; a missing subject is the aggregate.
create or replace function {schema}.publish_batch(
    types        text[],
    payloads     text[],
    aggregates   text[] default null,
    subjects     text[] default null,
    traceparents text[] default null,
    event_ids    text[] default null,
    wake         boolean default true
) returns text[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    ids    text[];
begin
    perform {schema}.check_outbox(types, payloads, aggregates, subjects, traceparents, event_ids);
    ids := array(
        select coalesce(n.event_id, gen_random_uuid()::text)
        from unnest(types, event_ids) with ordinality as n (type, event_id, place)
        order by n.place
    );
    insert into {schema}.outbox
        (event_id, type, payload, aggregate, subject, traceparent, status, visible_at, created_at)
    select n.event_id, n.type, n.payload, coalesce(n.aggregate, ''),
           coalesce(n.subject, n.aggregate, ''), n.traceparent, 'PENDING', now_at, now_at
    from unnest(ids, types, payloads, aggregates, subjects, traceparents) with ordinality
        as n (event_id, type, payload, aggregate, subject, traceparent, place)
    order by n.place;
    if wake then
        perform pg_notify('pawl_{schema_name}', '-2');
    end if;
    return ids;
end
$$;
comment on function {schema}.publish_batch is 'Adds events to the outbox, all or nothing; returns their ids in order.';

create or replace function {schema}.publish(
    type text, payload json default 'null', aggregate text default '', subject text default null,
    traceparent text default null
) returns text
language sql
as $$
    select ({schema}.publish_batch(
        array[type], array[coalesce(payload::text, 'null')], array[aggregate], array[subject],
        array[traceparent]
    ))[1]
$$;
comment on function {schema}.publish(text, json, text, text, text) is
    'Adds one event to the outbox, in the caller''s transaction; returns its id.';

-- For ctx.publish: steps recorded by this transaction, with their events. A step that this delivery could not record
-- publishes nothing, and a repeated commit does not publish again.
create or replace function {schema}.publish_steps(
    run_ids bigint[], deliveries integer[], step_ids text[], event_ids text[], types text[],
    payloads text[], aggregates text[], subjects text[], traceparents text[] default null,
    wake boolean default true
) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    perform {schema}.check_outbox(types, payloads, aggregates, subjects, traceparents, event_ids);
    perform {schema}.check_given('event_ids', num_nulls(variadic event_ids) > 0);
    insert into {schema}.outbox
        (event_id, type, payload, aggregate, subject, traceparent, run_id, status, visible_at, created_at)
    select coalesce(n.event_id, gen_random_uuid()::text), n.type, n.payload, coalesce(n.aggregate, ''),
           coalesce(n.subject, n.aggregate, ''), n.traceparent, n.run_id, 'PENDING', now_at, now_at
    from unnest(run_ids, deliveries, step_ids, event_ids, types, payloads, aggregates, subjects,
                traceparents) with ordinality
        as n (run_id, delivery, step_id, event_id, type, payload, aggregate, subject, traceparent, place)
    where n.type is not null and exists (
              select from {schema}.steps s
              where s.run_id = n.run_id and s.step_id = n.step_id and s.delivery = n.delivery
                and s.status = 'SUCCESS'
              offset 0
          )
      and not exists (
              select from {schema}.outbox o
              where o.run_id = n.run_id and o.event_id = n.event_id
              offset 0
          )
    order by n.place;
    if found and wake then
        perform pg_notify('pawl_{schema_name}', '-2');
    end if;
end
$$;
comment on function {schema}.publish_steps is
    'Publishes the events of steps that the same transaction has recorded with record_steps.';

-- The automatic events of runs that have ended, for workflows that publish them. `alert` is the event type if pawl
-- itself ended the run. If no workflow publishes, this costs one lookup per batch.
create or replace function {schema}.publish_run_ends(
    run_ids bigint[], at timestamptz, alerts text[] default null
) returns void
language plpgsql
as $$
begin
    if not exists (select from {schema}.workflows w where w.publish <> 'off') then
        return;
    end if;
    insert into {schema}.outbox
        (event_id, type, payload, aggregate, subject, run_id, status, visible_at, created_at)
    select gen_random_uuid()::text, t.type,
           format('{"run_id":%s,"workflow":%s,"status":"%s",%s}', r.run_id, to_json(q.name), r.status,
                  case when r.status = 'SUCCESS' then '"output":' || coalesce(r.output, 'null')
                       else '"error":' || coalesce(r.error, 'null') end),
           'run:' || r.run_id, 'run:' || r.run_id, r.run_id, 'PENDING', publish_run_ends.at,
           publish_run_ends.at
    from unnest(run_ids, alerts) with ordinality as n (run_id, alert, place)
    cross join lateral (
        select r.* from {schema}.runs r where r.run_id = n.run_id and r.completed_at is not null offset 0
    ) r
    cross join lateral (
        select w.publish, w.dead_letter_workflow_id
        from {schema}.workflows w where w.workflow_id = r.workflow_id and w.publish <> 'off' offset 0
    ) w
    cross join lateral (
        select q.name from {schema}.queues q where q.queue_id = r.workflow_id offset 0
    ) q
    cross join lateral (
        values (1, case when w.publish = 'ends' then
                       case r.status when 'SUCCESS' then 'run.succeeded' when 'ERROR' then 'run.failed'
                                     else 'run.cancelled' end end),
               (2, 'run.' || n.alert),
               (3, case when r.status = 'ERROR' and w.dead_letter_workflow_id is not null
                        then 'run.dead_lettered' end)
    ) t (rank, type)
    where t.type is not null
    order by n.place, t.rank;
    if found then
        perform pg_notify('pawl_{schema_name}', '-2');
    end if;
end
$$;
comment on function {schema}.publish_run_ends is
    'Internal: adds the events of ended runs to the outbox, if their workflows publish them.';

-- The same for runs that were just paused.
create or replace function {schema}.publish_pauses(
    run_ids bigint[], messages text[], at timestamptz
) returns void
language plpgsql
as $$
begin
    insert into {schema}.outbox
        (event_id, type, payload, aggregate, subject, run_id, status, visible_at, created_at)
    select gen_random_uuid()::text, 'run.paused',
           format('{"run_id":%s,"workflow":%s,"status":"PAUSED","message":%s}', n.run_id, to_json(q.name),
                  to_json(coalesce(n.message, ''))),
           'run:' || n.run_id, 'run:' || n.run_id, n.run_id, 'PENDING', publish_pauses.at,
           publish_pauses.at
    from unnest(run_ids, messages) with ordinality as n (run_id, message, place)
    join {schema}.runs r on r.run_id = any(array[n.run_id])
    join {schema}.queues q on q.queue_id = r.workflow_id
    order by n.place;
    perform pg_notify('pawl_{schema_name}', '-2');
end
$$;
comment on function {schema}.publish_pauses is
    'Internal: adds the events of paused runs to the outbox, if their workflows publish them.';
