-- Enqueue. With `wake`, the function sends the NOTIFY inside the caller's transaction. The C++ store sends it after its
-- commit instead, because commits with a NOTIFY are serialized by one global lock.

-- All or nothing. The arrays are aligned; a null time means now.
create or replace function {schema}.enqueue_batch(
    queue_name text,
    payloads   json[],
    priorities integer[] default null,
    delays_ms  bigint[] default null,
    ats        timestamptz[] default null,
    wake       boolean default true
) returns bigint[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    id     bigint;
    ids    bigint[];
begin
    perform {schema}.check_places(priorities, delays_ms, ats);
    perform {schema}.check_aligned(
        coalesce(cardinality(payloads), 0), cardinality(priorities), cardinality(delays_ms), cardinality(ats));
    if num_nulls(variadic payloads) > 0 then
        raise exception 'a payload is null; pass the JSON value null' using errcode = 'PW003';
    end if;
    -- `queues` is read again behind the lock: the queue may have been deleted and created again.
    loop
        id := {schema}.queue_id(queue_name);
        perform {schema}.refuse_workflow_queue(id);
        if not pg_try_advisory_xact_lock_shared({schema}.queue_lock_key(id)) then
            perform {schema}.share_queues(array[id]);
        end if;
        perform {schema}.recheck_queues(array[id]);
        with added as (
            insert into {schema}.messages
                (queue_id, priority, state, visible_at, enqueued_at, payload)
            select q.queue_id, coalesce(n.priority, 0),
                   case when n.at > now_at then 'waiting' else 'ready' end,
                   greatest(n.at, now_at), now_at, n.payload
            from {schema}.queues q
            cross join lateral (
                select u.payload, u.priority, u.ordinality,
                       coalesce(u.at, now_at + {schema}.ms(u.delay_ms), now_at) as at
                from unnest(payloads, priorities, delays_ms, ats) with ordinality
                    as u (payload, priority, delay_ms, at, ordinality)
            ) n
            where q.queue_id = id
            order by n.ordinality
            returning message_id
        )
        select array_agg(added.message_id order by added.message_id) into ids from added;
        exit when ids is not null or coalesce(cardinality(payloads), 0) = 0;
    end loop;
    if wake then
        perform pg_notify('pawl_{schema_name}', id::text);
    end if;
    return coalesce(ids, '{}');
end
$$;
comment on function {schema}.enqueue_batch is 'Adds messages to a queue, all or nothing; returns their ids in order.';

create or replace function {schema}.enqueue(
    queue_name text,
    payload    json,
    priority   integer default 0,
    delay_ms   bigint default 0,
    at         timestamptz default null
) returns bigint
language sql
as $$
    select ({schema}.enqueue_batch(
        queue_name, array[payload], array[priority], array[delay_ms], array[at]
    ))[1]
$$;
comment on function {schema}.enqueue(text, json, integer, bigint, timestamptz) is
    'Adds one message to a queue; returns its id.';
