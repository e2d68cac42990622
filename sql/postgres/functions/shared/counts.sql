-- Counts for operators and monitoring read a bounded number of rows. Above the limit a count is a lower bound and is
-- marked as such. The limits are in src/model/rules.h.

create or replace function {schema}.count_limit() returns integer
language sql immutable
as $$ select {rule:count_limit} $$;
comment on function {schema}.count_limit is 'Internal: the default limit of counts.';

create or replace function {schema}.count_text(value bigint, exact boolean) returns text
language sql immutable
as $$ select value || case when exact then '' else '+' end $$;
comment on function {schema}.count_text is
    'Internal: formats a count; a lower bound is followed by a plus sign: 10000+.';

-- Counts the messages of one queue, up to max_count in each state and max_archived in each part of the archive.
--
-- Waiting and leased messages share an index: twice max_count of them are read, those due next first. The oldest
-- ready message is searched among the counted messages and the first message of each priority (of the first
-- {rule:max_priorities} priorities).
create or replace function {schema}.count_messages(
    queue_id bigint, now_at timestamptz, max_count integer, max_archived integer,
    out ready bigint, out waiting bigint, out leased bigint, out archived bigint, out dead bigint,
    out oldest_ready_ms bigint, out at_least text[]
)
language plpgsql
as $$
declare
    id     constant bigint := count_messages.queue_id;
    most   constant bigint := max_count;
    stored record;
    due    record;
    timed  record;
    head   timestamptz;
begin
    select count(*) as count, min(s.visible_at) as oldest into stored
    from (
        select m.visible_at from {schema}.messages m
        where m.queue_id = id and m.state = 'ready' order by -m.priority, m.message_id limit most + 1
    ) s;
    if stored.count > most then
        with recursive heads (priority, visible_at, place) as (
            (select -m.priority, m.visible_at, 1 from {schema}.messages m
             where m.queue_id = id and m.state = 'ready' order by -m.priority, m.message_id limit 1)
            union all
            select n.priority, n.visible_at, h.place + 1
            from heads h
            cross join lateral (
                select -m.priority as priority, m.visible_at from {schema}.messages m
                where m.queue_id = id and m.state = 'ready' and -m.priority > h.priority
                order by -m.priority, m.message_id limit 1
            ) n
            where h.place < {rule:max_priorities}
        )
        select min(h.visible_at) into head from heads h;
    end if;
    select count(*) as count, min(d.visible_at) as oldest into due
    from (
        select m.visible_at from {schema}.messages m
        where m.queue_id = id and m.state <> 'ready' and m.visible_at <= now_at order by m.visible_at limit most + 1
    ) d;
    select count(*) as count, count(*) filter (where t.state = 'waiting') as waiting,
           count(*) filter (where t.state = 'leased') as leased
    into timed
    from (
        select m.state from {schema}.messages m
        where m.queue_id = id and m.state <> 'ready' and m.visible_at > now_at
        order by m.visible_at limit 2 * most + 1
    ) t;
    ready := stored.count + due.count;
    waiting := timed.waiting;
    leased := timed.leased;
    oldest_ready_ms := extract(epoch from now_at - least(stored.oldest, due.oldest, head)) * 1000;
    archived := (
        select count(*) from (
            select from {schema}.archive a where a.queue_id = id and not a.dead
            order by a.archived_at, a.message_id limit max_archived + 1::bigint
        ) a
    );
    dead := (
        select count(*) from (
            select from {schema}.archive a where a.queue_id = id and a.dead
            order by a.archived_at, a.message_id limit max_archived + 1::bigint
        ) a
    );
    at_least := array_remove(array[
        case when stored.count > most or due.count > most or ready > most then 'ready' end,
        case when timed.count > 2 * most or waiting > most then 'waiting' end,
        case when timed.count > 2 * most or leased > most then 'leased' end,
        case when archived > max_archived then 'archived' end,
        case when dead > max_archived then 'dead' end], null);
    ready := least(ready, most);
    waiting := least(waiting, most);
    leased := least(leased, most);
    archived := least(archived, max_archived);
    dead := least(dead, max_archived);
end
$$;
comment on function {schema}.count_messages is 'Internal: bounded counts of the messages of a queue.';

-- archive_limit is the limit for the archive; null means count_limit.
create or replace function {schema}.queue_stats(
    queue_names text[] default null, count_limit integer default {rule:count_limit},
    archive_limit integer default null
) returns table (
    queue text, paused boolean, ready bigint, waiting bigint, leased bigint, archived bigint, dead bigint,
    oldest_ready_ms bigint, workers bigint, at_least text[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at timestamptz := {schema}.clock();
begin
    perform {schema}.check_range('count_limit', queue_stats.count_limit, 0, 2147483647);
    perform {schema}.check_range('archive_limit', archive_limit, 0, 2147483647);
    return query
    with handled as materialized (
        select h.name, count(*) as workers
        from {schema}.workers w cross join lateral unnest(w.handlers) as h (name)
        where w.status <> 'STOPPED' and w.heartbeat_at + {schema}.ms(w.lease_ms) >= now_at
          and (queue_names is null or h.name = any(queue_names))
        group by h.name
    )
    select q.name, q.paused, c.ready, c.waiting, c.leased, c.archived, c.dead, c.oldest_ready_ms,
           coalesce(h.workers, 0), c.at_least
    from {schema}.queues q
    left join handled h on h.name = q.name
    cross join lateral {schema}.count_messages(
        q.queue_id, now_at, coalesce(queue_stats.count_limit, 2147483647),
        coalesce(archive_limit, queue_stats.count_limit, 2147483647)) c
    where queue_names is null or q.name = any(queue_names)
    order by q.name;
end
$$;
comment on function {schema}.queue_stats is
    'Counts the messages of each queue, up to count_limit; at_least names the counts that are lower bounds.';

create or replace function {schema}.metrics(queue_name text default null) returns table (
    queue text, paused boolean, ready bigint, waiting bigint, leased bigint, archived bigint,
    dead bigint, oldest_ready_ms bigint
)
language sql
as $$
    select s.queue, s.paused, s.ready, s.waiting, s.leased, s.archived, s.dead, s.oldest_ready_ms
    from {schema}.queue_stats(case when queue_name is not null then array[queue_name] end, null) s
$$;
comment on function {schema}.metrics is
    'Like queue_stats(), but with exact counts. Reads all messages, so it can be slow.';

create or replace function {schema}.backlog(queue_names text[]) returns table (
    queue text, ready bigint, waiting bigint, leased bigint, dead bigint, oldest_ready_ms bigint
)
language sql
as $$
    select s.queue, s.ready, s.waiting, s.leased, s.dead, s.oldest_ready_ms
    from {schema}.queue_stats(coalesce(queue_names, '{}'), null) s
$$;
comment on function {schema}.backlog is
    'Exact counts of unfinished messages per queue, and the age of the oldest ready message.';

-- A worker is live if it has not stopped and its last heartbeat is within its lease. `stopped` is counted up to
-- count_limit.
create or replace function {schema}.worker_counts(
    count_limit integer default {rule:count_limit},
    out live bigint, out lost bigint, out stopped bigint, out at_least text[]
)
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    perform {schema}.check_range('count_limit', worker_counts.count_limit, 0, 2147483647);
    worker_counts.count_limit := coalesce(worker_counts.count_limit, 2147483647);
    select count(*) filter (where w.heartbeat_at + {schema}.ms(w.lease_ms) >= now_at),
           count(*) filter (where w.heartbeat_at + {schema}.ms(w.lease_ms) < now_at)
    into live, lost
    from {schema}.workers w where w.status <> 'STOPPED';
    stopped := (
        select count(*) from (
            select from {schema}.workers w where w.status = 'STOPPED' limit worker_counts.count_limit + 1::bigint
        ) w
    );
    at_least := case when stopped > worker_counts.count_limit then '{stopped}' else '{}' end;
    stopped := least(stopped, worker_counts.count_limit);
end
$$;
comment on function {schema}.worker_counts is
    'Counts live, lost and stopped workers; at_least names the counts that are lower bounds.';
