-- Look-ups, and the archive's own operations.

create or replace function {schema}.list_messages(
    queue_name text, wanted_state text default null, after_message bigint default 0,
    max_rows integer default 100, only_message bigint default null
) returns table (
    message_id bigint, queue text, priority integer, delivery integer, strikes integer,
    attempts integer, state text, enqueued_at timestamptz, visible_at timestamptz, worker_id bigint,
    last_error text, payload json
)
language sql
as $$
    with now as materialized (select {schema}.clock() as at, {schema}.queue_id(queue_name) as queue_id)
    select m.message_id, queue_name, m.priority, m.delivery, m.strikes, m.attempts,
           {schema}.message_state(m.state, m.visible_at, now.at), m.enqueued_at, m.visible_at,
           m.worker_id, m.last_error, m.payload
    from now join {schema}.messages m using (queue_id)
    where (wanted_state is null
           or {schema}.message_state(m.state, m.visible_at, now.at) = wanted_state)
      and (only_message is null or m.message_id = only_message)
      and m.message_id > after_message
    order by m.message_id
    limit {schema}.page_size(max_rows)
$$;
comment on function {schema}.list_messages is
    'Live messages of a queue by id, page by page: pass the last id as after_message.';

create or replace function {schema}.list_archive(
    queue_name text, wanted_dead boolean default null, after_message bigint default 0,
    max_rows integer default 100
) returns table (
    message_id bigint, queue text, priority integer, delivery integer, strikes integer,
    attempts integer, dead boolean, reason text, enqueued_at timestamptz, archived_at timestamptz,
    worker_id bigint, payload json
)
language sql
as $$
    select a.message_id, queue_name, a.priority, a.delivery, a.strikes, a.attempts, a.dead, a.reason,
           a.enqueued_at, a.archived_at, a.worker_id, a.payload
    from {schema}.archive a
    where a.queue_id = (select {schema}.queue_id(queue_name))
      and (wanted_dead is null or a.dead = wanted_dead)
      and a.message_id > after_message
    order by a.message_id
    limit {schema}.page_size(max_rows)
$$;
comment on function {schema}.list_archive is
    'Archived messages of a queue by id, page by page; wanted_dead: only dead letters, or none.';

-- The message keeps its id, and its deliveries go on counting, so that old holders stay fenced.
create or replace function {schema}.replay(queue_name text, only_message bigint default null)
returns bigint
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    id       bigint := {schema}.queue_id(queue_name);
    replayed bigint;
begin
    perform {schema}.refuse_workflow_queue(id);
    perform pg_advisory_xact_lock_shared({schema}.queue_lock_key(id));
    with gone as (
        delete from {schema}.archive a
        where a.queue_id = id
          and case when only_message is null then a.dead else a.message_id = only_message end
        returning a.*
    )
    insert into {schema}.messages
        (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
    select g.message_id, g.queue_id, g.priority, g.delivery, 'ready', now_at, g.enqueued_at, g.payload
    from gone g join {schema}.queues q using (queue_id);
    get diagnostics replayed = row_count;
    if replayed > 0 then
        perform pg_notify('pawl_{schema_name}', id::text);
    end if;
    return replayed;
end
$$;
comment on function {schema}.replay is
    'Puts one archived message, or every dead letter, back into the queue; returns how many.';

create or replace function {schema}.purge_archive(queue_name text, wanted_dead boolean default null)
returns bigint
language plpgsql
as $$
declare
    id     bigint := {schema}.queue_id(queue_name);
    purged bigint;
begin
    delete from {schema}.archive a
    where a.queue_id = id and (wanted_dead is null or a.dead = wanted_dead);
    get diagnostics purged = row_count;
    return purged;
end
$$;
comment on function {schema}.purge_archive is 'Deletes archived messages of a queue; returns how many.';
