-- The parts of claim() (queue/claim.sql). They run under its planner settings.

-- The queues to search, without paused ones. A narrow set (up to 32) is taken as it is, starting after `after_queue`.
-- Of a wide set only queues with rows are taken; they are found by a skip scan through the two indexes, at most 32
-- steps each, starting after `after_queue`. `more` means that the scans did not reach the end; the next claim continues
-- after last_queue (0: from the beginning).
create or replace function {schema}.claim_scope(
    queue_ids bigint[], after_queue bigint,
    out live bigint[], out leases_ms bigint[], out strikes_limits integer[], out last_queue bigint,
    out more boolean
)
language plpgsql
as $$
declare
    candidates bigint[] := queue_ids;
    narrow     constant integer := {rule:wide_set};
begin
    more := false;
    if cardinality(queue_ids) > narrow then
        with recursive
        ready_queues (queue_id, steps) as (
            select after_queue, 0
            union all
            select (select m.queue_id from {schema}.messages m
                    where m.state = 'ready' and m.queue_id > s.queue_id
                    order by m.queue_id limit 1), s.steps + 1
            from ready_queues s where s.steps < narrow and s.queue_id is not null
        ),
        due_queues (queue_id, steps) as (
            select after_queue, 0
            union all
            select (select m.queue_id from {schema}.messages m
                    where m.state <> 'ready' and m.queue_id > s.queue_id
                    order by m.queue_id limit 1), s.steps + 1
            from due_queues s where s.steps < narrow and s.queue_id is not null
        ),
        scanned as (
            select * from ready_queues union all select * from due_queues
        )
        select array_agg(distinct s.queue_id) filter (where s.steps > 0 and s.queue_id = any(queue_ids)),
               -- The first position of the scans that did not reach the end.
               coalesce(min(s.queue_id) filter (where s.steps = narrow), 0)
        into candidates, last_queue
        from scanned s;
        more := last_queue > 0;
    end if;
    select array_agg(q.queue_id), array_agg(q.lease_ms), array_agg(q.max_strikes)
    into live, leases_ms, strikes_limits
    from (
        select q.queue_id, q.lease_ms, q.max_strikes
        from {schema}.queues q
        where q.queue_id = any(candidates) and not q.paused
        order by q.queue_id <= after_queue, q.queue_id
    ) q;
    if cardinality(queue_ids) <= narrow then
        last_queue := live[1];  -- the next claim starts with another queue
    end if;
end
$$;
comment on function {schema}.claim_scope is 'Internal: the queues from which a claim may take rows.';

-- Locks and returns the first ready rows of a queue. With a floor it takes rows of higher priorities and rows after the
-- floor; if these are fewer than qty, it starts again at the beginning.
create or replace function {schema}.pick_ready(
    queue bigint, qty integer, floor_priority integer, floor_message bigint,
    out tids tid[], out ids bigint[]
)
language plpgsql
as $$
begin
    if floor_message is not null then
        select array_agg(m.ctid), array_agg(m.message_id) into tids, ids
        from (
            select m.ctid, m.message_id from {schema}.messages m
            where m.queue_id = queue and m.state = 'ready' and -m.priority < -floor_priority
            order by -m.priority, m.message_id limit qty for update skip locked
        ) m;
        select tids || array_agg(m.ctid), ids || array_agg(m.message_id) into tids, ids
        from (
            select m.ctid, m.message_id from {schema}.messages m
            where m.queue_id = queue and m.state = 'ready'
              and (-m.priority, m.message_id) > (-floor_priority, floor_message)
            order by -m.priority, m.message_id limit qty - coalesce(cardinality(ids), 0)
            for update skip locked
        ) m;
        if cardinality(ids) = qty then
            return;
        end if;
    end if;
    select array_agg(m.ctid), array_agg(m.message_id) into tids, ids
    from (
        select m.ctid, m.message_id from {schema}.messages m
        where m.queue_id = queue and m.state = 'ready'
        order by -m.priority, m.message_id limit qty for update skip locked
    ) m;
end
$$;
comment on function {schema}.pick_ready is 'Internal: the next ready rows of one queue, locked.';

-- Due rows (whose delay or lease has ended) of the queues, up to qty of each, locked and classified:
--   tids, ids, priorities, times   rows that can be delivered; aligned
--   left_at      due rows from this time on were left
--   suspect      delivered twice without a report: delivered alone, and only if no other row was taken (`alone`)
--   progressed   rows whose last delivery has recorded a step, which counts as a report
--   lost...      leases that ended without a report
--   buried       poison was found and buried: there may be more due rows behind it
--   log          the lost leases and the poison, for the last row of the claim
create or replace function {schema}.collect_due(
    live bigint[], strikes_limits integer[], qty integer, alone boolean, due_floor timestamptz, at timestamptz,
    out tids tid[], out ids bigint[], out priorities integer[], out times timestamptz[], out left_at timestamptz,
    out suspect tid[], out progressed tid[], out lost bigint[], out lost_deliveries integer[],
    out lost_workers bigint[], out buried boolean, out log json
)
language plpgsql
as $$
declare
    poison        bigint[];
    poison_queues bigint[];
    reasons       text[];
    suspect_id    bigint;
    suspect_time  timestamptz;
begin
    select array_agg(d.tid) filter (where d.good), array_agg(d.message_id) filter (where d.good),
           array_agg(d.priority) filter (where d.good), array_agg(d.due_at) filter (where d.good),
           array_agg(d.message_id) filter (where d.poison),
           array_agg(d.queue_id) filter (where d.poison),
           array_agg(format('poison: {text:unreported}', d.strikes))
               filter (where d.poison),
           min(d.message_id) filter (where d.suspect), min(d.due_at) filter (where d.suspect),
           array_agg(d.tid) filter (where d.progressed),
           array_agg(d.message_id) filter (where d.state = 'leased' and not d.poison),
           array_agg(d.delivery) filter (where d.state = 'leased' and not d.poison),
           array_agg(d.worker_id) filter (where d.state = 'leased' and not d.poison),
           -- A queue that returned as many rows as requested has more, none of them older.
           min(d.last_of_queue) filter (where d.of_queue >= qty)
    into tids, ids, priorities, times, poison, poison_queues, reasons, suspect_id, suspect_time,
         progressed, lost, lost_deliveries, lost_workers, left_at
    from (
        select x.*, h.queue_id, p.progressed, j.*, case when p.progressed then 0 else x.hand_outs end as strikes,
               count(*) over (partition by h.queue_id) as of_queue,
               max(x.due_at) over (partition by h.queue_id) as last_of_queue
        from unnest(live, strikes_limits) as h (queue_id, strikes_limit)
        cross join lateral (
            select m.ctid as tid, m.message_id, m.priority, m.delivery, m.state, m.worker_id,
                   m.visible_at as due_at, m.strikes as hand_outs, m.run_id is not null as is_task
            from {schema}.messages m
            where m.queue_id = h.queue_id and m.state <> 'ready'
              and m.visible_at <= at and m.visible_at > due_floor
            order by m.visible_at limit qty for update skip locked
        ) x
        cross join lateral (
            select x.state = 'leased' and exists (
                select from {schema}.steps s
                where s.run_id = x.message_id and s.delivery = x.delivery
                  and s.status <> 'RUNNING'
                offset 0  -- one lookup, independent of the planner's statistics
            ) as progressed
            offset 0  -- else the lookup is repeated wherever its result is used
        ) p
        cross join lateral (
            select g.good, g.poison, not g.good and not g.poison as suspect
            from (
                -- A task of a poller is limited by its attempts and not by strikes: see fail_exhausted().
                select p.progressed or x.hand_outs < least({rule:suspect_strikes}, h.strikes_limit) as good,
                       not p.progressed and x.hand_outs >= h.strikes_limit
                           and (not x.is_task or x.worker_id is not null) as poison
            ) g
        ) j
    ) d;
    buried := poison is not null;
    if buried then
        perform {schema}.bury_locked(poison, reasons);
    end if;
    left_at := least(left_at, suspect_time);
    if suspect_id is not null and alone then
        suspect := array(select m.ctid from {schema}.messages m where m.message_id = suspect_id);
        left_at := least(left_at, (select min(t) from unnest(times) t));
        tids := null;
        ids := null;
        priorities := null;
        times := null;
    end if;
    if lost is not null or buried then
        log := json_build_object('lost', lost, 'workers', lost_workers,
                                 'poison', poison, 'queues', poison_queues, 'reasons', reasons);
    end if;
end
$$;
comment on function {schema}.collect_due is
    'Internal: due rows for a claim, locked. Buries poison and separates suspects.';

-- The highest priority (up to a ceiling) of the ready rows of all queues, and the queues that have such rows.
create or replace function {schema}.top_level(
    live bigint[], ceiling integer, out level integer, out heads bigint[]
)
language plpgsql
as $$
begin
    select max(h.priority), array_agg(h.queue_id order by h.place) filter (where h.priority = h.top)
    into level, heads
    from (
        select u.queue_id, u.place, p.priority, max(p.priority) over () as top
        from unnest(live) with ordinality as u (queue_id, place)
        cross join lateral (
            select m.priority from {schema}.messages m
            where m.queue_id = u.queue_id and m.state = 'ready' and -m.priority >= -ceiling
            order by -m.priority, m.message_id limit 1
        ) p
    ) h;
end
$$;
comment on function {schema}.top_level is 'Internal: the highest priority of ready rows, and the queues that have it.';

-- Ready rows of one priority, shared among the queues that have it, merged with the due rows of at least that priority.
create or replace function {schema}.merge_due(
    level integer, heads bigint[], qty integer, due_tids tid[], due_ids bigint[], due_priorities integer[]
) returns tid[]
language plpgsql
as $$
begin
    return array(
        select c.tid
        from (
            select d.tid, d.priority, d.message_id
            from unnest(due_tids, due_ids, due_priorities) as d (tid, message_id, priority)
            where level is null or d.priority >= level
            union all
            select r.tid, r.priority, r.message_id
            from unnest(heads) as h (queue_id)
            cross join lateral (
                select m.ctid as tid, m.priority, m.message_id
                from {schema}.messages m
                where m.queue_id = h.queue_id and m.state = 'ready' and -m.priority = -level
                order by m.message_id
                limit (qty + cardinality(heads) - 1) / cardinality(heads)
                for update skip locked
            ) r
        ) c
        order by c.priority desc, c.message_id
        limit qty
    );
end
$$;
comment on function {schema}.merge_due is
    'Internal: the next rows of one priority, merged with the due rows that precede them.';

-- One round of a claim over several queues, or with due rows. Null tids mean that no row is left. `level` is the
-- priority to which the round was restricted, if any: the next round may have to use a lower one.
create or replace function {schema}.pick_round(
    live bigint[], qty integer, ceiling integer, due_tids tid[], due_ids bigint[], due_priorities integer[],
    out tids tid[], out level integer
)
language plpgsql
as $$
declare
    share   integer := (qty + cardinality(live) - 1) / cardinality(live);
    uniform boolean;
    top     record;
begin
    if due_ids is null then
        -- Usually all rows have one priority: then each queue gets a fair share.
        select (array_agg(r.tid))[1:qty], min(r.priority) = max(r.priority)
        into tids, uniform
        from unnest(live) as h (queue_id)
        cross join lateral (
            select m.ctid as tid, m.priority from {schema}.messages m
            where m.queue_id = h.queue_id and m.state = 'ready'
            order by -m.priority, m.message_id limit share for update skip locked
        ) r;
        if tids is null or uniform then
            return;
        end if;
    end if;
    top := {schema}.top_level(live, ceiling);
    level := top.level;
    tids := {schema}.merge_due(level, top.heads, qty, due_tids, due_ids, due_priorities);
end
$$;
comment on function {schema}.pick_round is
    'Internal: the rows that a claim takes next from several queues and due rows.';

-- When to check again for a row that has been available since then but is locked by another session. The interval grows
-- with the age of the lock.
create or replace function {schema}.look_again(since timestamptz, at timestamptz) returns timestamptz
language sql stable  -- like the functions that it calls: otherwise it is not inlined, and costs a tenth of a claim
as $$
    select case when since is not null
                then at + least(interval '500 ms', greatest(interval '10 ms', (at - since) / 2)) end
$$;
comment on function {schema}.look_again is 'Internal: when to check again for a row that another session has locked.';

-- For a claim that got fewer rows than it asked for. Rows that it could have taken may be locked by other sessions,
-- which may not take them, so the caller should check again soon. Null if there are no such rows.
create or replace function {schema}.look_again_at(queue_ids bigint[], due_floor timestamptz, at timestamptz)
returns timestamptz
language plpgsql
as $$
declare
    since timestamptz := (
        select min(x.visible_at) from unnest(queue_ids) as h (queue_id)
        cross join lateral (
            (select m.visible_at from {schema}.messages m
             where m.queue_id = h.queue_id and m.state = 'ready'
             order by -m.priority, m.message_id limit 1)
            union all
            (select m.visible_at from {schema}.messages m
             where m.queue_id = h.queue_id and m.state <> 'ready'
               and m.visible_at <= look_again_at.at and m.visible_at > due_floor
             order by m.visible_at limit 1)
        ) x
    );
begin
    return {schema}.look_again(since, at);
end
$$;
comment on function {schema}.look_again_at is 'Internal: when to check again for rows that other sessions have locked.';

-- When the next row of the queues becomes due, or should be checked again.
create or replace function {schema}.find_next_due(live bigint[], due_floor timestamptz, at timestamptz)
returns timestamptz
language plpgsql
as $$
begin
    return least({schema}.look_again_at(live, due_floor, at), (
        select min(x.visible_at) from unnest(live) as h (queue_id)
        cross join lateral (
            select m.visible_at from {schema}.messages m
            where m.queue_id = h.queue_id and m.state <> 'ready' and m.visible_at > find_next_due.at
            order by m.visible_at limit 1
        ) x
    ));
end
$$;
comment on function {schema}.find_next_due is 'Internal: when a claim that found too few rows should be repeated.';
