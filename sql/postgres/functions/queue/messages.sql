-- Lookups of messages, and operations on the archive.

-- A page of ids in ascending order. The index has ready messages by priority and id, and the others by time: a page is
-- merged from one page per priority and from up to 10000 others. If there are more priorities or others, the page is
-- found by scanning the messages of all queues by id; in this case many of them belong to this queue.
create or replace function {schema}.message_page(
    queue_id bigint, wanted_state text, after_message bigint, max_rows integer, now_at timestamptz
) returns bigint[]
language plpgsql
as $$
declare
    id         constant bigint := message_page.queue_id;
    after      constant bigint := coalesce(after_message, 0);
    with_ready constant boolean := coalesce(wanted_state = 'ready', true);
    from_at    constant timestamptz := case when wanted_state <> 'ready' then now_at else '-infinity' end;
    until_at   constant timestamptz := case when wanted_state = 'ready' then now_at else 'infinity' end;
    priorities integer[];
    others     bigint;
begin
    if with_ready then
        with recursive heads (priority, place) as (
            (select -m.priority, 1 from {schema}.messages m
             where m.queue_id = id and m.state = 'ready' order by -m.priority limit 1)
            union all
            select n.priority, h.place + 1
            from heads h
            cross join lateral (
                select -m.priority as priority from {schema}.messages m
                where m.queue_id = id and m.state = 'ready' and -m.priority > h.priority
                order by -m.priority limit 1
            ) n
            where h.place <= {rule:max_priorities}
        )
        select array_agg(h.priority) into priorities from heads h;
    end if;
    select count(*) into others
    from (
        select from {schema}.messages m
        where m.queue_id = id and m.state <> 'ready' and m.visible_at > from_at and m.visible_at <= until_at
        limit {schema}.count_limit() + 1
    ) o;
    if others > {schema}.count_limit() or cardinality(priorities) > {rule:max_priorities} then
        return array(
            select m.message_id from {schema}.messages m
            where m.message_id > after and m.queue_id = id
              and (wanted_state is null
                   or {schema}.message_state(m.state, m.visible_at, now_at) = wanted_state)
            order by m.message_id limit max_rows
        );
    end if;
    return array(
        select p.id
        from (
            select r.id
            from unnest(priorities) as u (priority)
            cross join lateral (
                select m.message_id as id from {schema}.messages m
                where m.queue_id = id and m.state = 'ready' and -m.priority = u.priority and m.message_id > after
                order by m.message_id limit max_rows
            ) r
            union all
            select m.message_id from {schema}.messages m
            where m.queue_id = id and m.state <> 'ready' and m.visible_at > from_at and m.visible_at <= until_at
              and m.message_id > after
              and (wanted_state is null or wanted_state = 'ready' or m.state = wanted_state)
        ) p
        order by p.id limit max_rows
    );
end
$$;
comment on function {schema}.message_page is 'Internal: the ids of a page of live messages.';

create or replace function {schema}.list_messages(
    queue_name text, wanted_state text default null, after_message bigint default 0,
    max_rows integer default {rule:default_page_rows}, only_message bigint default null
) returns table (
    message_id bigint, queue text, priority integer, delivery integer, strikes integer,
    attempts integer, state text, enqueued_at timestamptz, visible_at timestamptz, worker_id bigint,
    last_error text, payload json
)
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at timestamptz := {schema}.clock();
    id     bigint := {schema}.queue_id(queue_name);
    page   bigint[] := case when only_message is null
        then {schema}.message_page(id, wanted_state, after_message, {schema}.page_size(max_rows), now_at) else array[only_message] end;
begin
    return query
    select m.message_id, queue_name, m.priority, m.delivery, m.strikes, m.attempts,
           {schema}.message_state(m.state, m.visible_at, now_at), m.enqueued_at, m.visible_at,
           m.worker_id, m.last_error, m.payload
    from {schema}.messages m
    where m.message_id = any(page) and m.queue_id = id
      and (wanted_state is null or {schema}.message_state(m.state, m.visible_at, now_at) = wanted_state)
      and m.message_id > coalesce(after_message, 0)
    order by m.message_id
    limit {schema}.page_size(max_rows);
end
$$;
comment on function {schema}.list_messages is
    'Lists live messages of a queue by id, page by page: pass the last id as after_message.';

-- The condition is a range of queue ids, so that no plan can walk the archive of all queues in the order of ids.
create or replace function {schema}.list_archive(
    queue_name text, wanted_dead boolean default null, after_message bigint default 0,
    max_rows integer default {rule:default_page_rows}
) returns table (
    message_id bigint, queue text, priority integer, delivery integer, strikes integer,
    attempts integer, dead boolean, reason text, enqueued_at timestamptz, archived_at timestamptz,
    worker_id bigint, payload json
)
language plpgsql
as $$
#variable_conflict use_column
declare
    id bigint := {schema}.queue_id(queue_name);
begin
    return query
    select a.message_id, queue_name, a.priority, a.delivery, a.strikes, a.attempts, a.dead, a.reason,
           a.enqueued_at, a.archived_at, a.worker_id, a.payload
    from {schema}.archive a
    where (a.queue_id, a.message_id) > (id, coalesce(after_message, 0)) and a.queue_id <= id
      and (wanted_dead is null or a.dead = wanted_dead)
    order by a.queue_id, a.message_id
    limit {schema}.page_size(max_rows);
end
$$;
comment on function {schema}.list_archive is
    'Lists archived messages of a queue by id, page by page. wanted_dead selects only dead letters, or only the others.';

-- The message keeps its id and continues its delivery numbers, so that earlier holders stay fenced.
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
    perform {schema}.share_queues(array[id]);
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
    'Moves one archived message, or all dead letters, back into the queue; returns how many.';

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
