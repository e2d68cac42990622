-- Queues: definition and administration.

-- And whether it is a workflow's.
-- name: queue_id(name)
select q.queue_id, exists (select 1 from pawl_workflows w where w.workflow_id = q.queue_id)
from pawl_queues q where q.name = @name;

-- Only options that are given are changed. The dead letter queue may be changed to null, so whether
-- it is given stands in a parameter of its own.
-- name: create_queue(name, keep_archive, lease_ms, max_strikes, max_attempts, change_dead_letter, dead_letter_queue_id, created_at)
insert into pawl_queues
    (name, keep_archive, lease_ms, max_strikes, max_attempts, dead_letter_queue_id, created_at)
values (
    @name, coalesce(@keep_archive, 1), @lease_ms, coalesce(@max_strikes, 5),
    coalesce(@max_attempts, 25), @dead_letter_queue_id, @created_at
)
on conflict (name) do update set
    keep_archive = coalesce(@keep_archive, keep_archive),
    lease_ms = coalesce(@lease_ms, lease_ms),
    max_strikes = coalesce(@max_strikes, max_strikes),
    max_attempts = coalesce(@max_attempts, max_attempts),
    dead_letter_queue_id =
        case when @change_dead_letter then @dead_letter_queue_id else dead_letter_queue_id end;

-- Both states apart: so each is counted in its partial index.
-- name: count_unsettled(queue_id)
select (select count(*) from pawl_messages m where m.queue_id = @queue_id and m.state = 'ready')
           + (select count(*) from pawl_messages m where m.queue_id = @queue_id and m.state <> 'ready'),
       (select count(*) from pawl_archive a where a.queue_id = @queue_id and a.dead = 1);

-- name: delete_queue_messages(queue_id)
delete from pawl_messages
where message_id in (
    select message_id from pawl_messages where queue_id = @queue_id and state = 'ready'
    union all
    select message_id from pawl_messages where queue_id = @queue_id and state <> 'ready'
);

-- name: delete_queue_archive(queue_id)
delete from pawl_archive where queue_id = @queue_id;

-- name: delete_queue(queue_id)
delete from pawl_queues where queue_id = @queue_id;

-- name: set_queue_paused(queue_id, paused)
update pawl_queues set paused = @paused where queue_id = @queue_id;

-- name: list_queues(only_name)
select q.queue_id, q.name, q.paused, q.keep_archive, q.lease_ms, q.max_strikes, q.max_attempts,
       coalesce(d.name, ''), q.created_at
from pawl_queues q
left join pawl_queues d on d.queue_id = q.dead_letter_queue_id
where @only_name is null or q.name = @only_name
order by q.name;

-- A lease or delay that has ended counts as ready, whatever the row still says. The archive is
-- counted in its indexes alone.
-- name: queue_stats(now)
select q.name, q.paused, coalesce(m.ready, 0), coalesce(m.waiting, 0), coalesce(m.leased, 0),
       (select count(*) from pawl_archive a where a.queue_id = q.queue_id),
       (select count(*) from pawl_archive a where a.queue_id = q.queue_id and a.dead = 1),
       m.oldest
from pawl_queues q
left join (
    select queue_id,
           count(*) filter (where state = 'ready' or visible_at <= @now) as ready,
           count(*) filter (where state = 'waiting' and visible_at > @now) as waiting,
           count(*) filter (where state = 'leased' and visible_at > @now) as leased,
           min(visible_at) filter (where state = 'ready' or visible_at <= @now) as oldest
    from pawl_messages
    group by queue_id
) m on m.queue_id = q.queue_id
order by q.name;

-- As queue_stats, of some queues (a JSON list of names), without what is archived.
-- name: backlog(queue_names, now)
select q.name, coalesce(m.ready, 0), coalesce(m.waiting, 0), coalesce(m.leased, 0),
       (select count(*) from pawl_archive a where a.queue_id = q.queue_id and a.dead = 1),
       m.oldest
from pawl_queues q
left join (
    select queue_id,
           count(*) filter (where state = 'ready' or visible_at <= @now) as ready,
           count(*) filter (where state = 'waiting' and visible_at > @now) as waiting,
           count(*) filter (where state = 'leased' and visible_at > @now) as leased,
           min(visible_at) filter (where state = 'ready' or visible_at <= @now) as oldest
    from pawl_messages
    group by queue_id
) m on m.queue_id = q.queue_id
where q.name in (select value from json_each(@queue_names))
order by q.name;

-- name: store_stats(now)
select (select count(*) from pawl_queues),
       count(*) filter (where state = 'ready' or visible_at <= @now),
       count(*) filter (where state = 'waiting' and visible_at > @now),
       count(*) filter (where state = 'leased' and visible_at > @now),
       (select count(*) from pawl_archive),
       (select count(*) from pawl_archive where dead = 1)
from pawl_messages;
