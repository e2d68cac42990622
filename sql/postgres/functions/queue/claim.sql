-- The claim: hands out messages of a set of queues, in order of priority and arrival, with a lease.
--
-- Ready rows come from messages_ready, due rows (delays and leases that have ended) from messages_due,
-- at most `qty` of each, so neither a backlog nor a million timers that end at once is ever sorted.
--
-- Both indexes keep entries of rows that are long gone until vacuum comes, and they lie just where a
-- claim begins to read. So a caller that claims again and again may tell how far it has come:
--   floor_priority, floor_message   the last row it got from the (single) queue: ready rows are taken
--                                   from there on, and above that priority. Rows committed late behind
--                                   the floor are found by the next claim without one; claims that
--                                   run short look again from the start by themselves.
--   looked_at, swept_at             up to when due rows were handed out, and when they were last looked
--                                   for from the very start. While ready rows fill the claim, due rows
--                                   are looked for every 100 ms, and from the start every 10 s.
--
-- A message with two strikes came back twice without a report: it may kill its process, so it is
-- handed out alone; where others come, it is left for the next claim. At max_strikes it becomes a dead
-- letter here. A step that the last hand-out of a run has recorded is a report, too, though the message
-- was not written then.
--
-- The last row returned has no message_id: it tells the clock, when the next row becomes due (or is
-- worth another look: others had it locked), whether due rows were looked for, the queue to start after
-- the next time, and whether queues were left out.
-- Its payload, if there is one, is for logs: messages whose leases had ended (lost) with their workers, and
-- messages that were not handed out because they are poison, with their queues and reasons.
-- A next_due that is not later than the clock means that due rows were left: none of them is older. That
-- is the looked_at of the next claim; without it the clock is.

-- The queues that are worth a look, not paused. A narrow set (up to 32) is taken as it is, starting
-- after `after_queue`. Of a wide one only queues that have rows, found by skipping through the two
-- indexes, each at most 32 steps from behind `after_queue` on; `more` says that the end was not
-- reached, and last_queue where to go on (0: from the start).
create or replace function {schema}.claim_queues(
    queue_ids bigint[], after_queue bigint,
    out live bigint[], out leases_ms bigint[], out strikes_limits integer[], out last_queue bigint,
    out more boolean
)
language plpgsql
as $$
declare
    candidates bigint[] := queue_ids;
    narrow     constant integer := 32;
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
               -- Where the first of the two that did not reach the end has stopped.
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
        last_queue := live[1];  -- another queue goes first the next time
    end if;
end
$$;

-- The first ready rows of a queue, locked; behind the floor, or above its priority, where that is enough.
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

-- When to look again for a row that is there since then, but which others have locked: what is locked for long is
-- looked at less and less often.
create or replace function {schema}.look_again(since timestamptz, at timestamptz) returns timestamptz
language sql stable  -- as what it calls: else it is not inlined, and costs a tenth of a claim
as $$
    select case when since is not null
                then at + least(interval '500 ms', greatest(interval '10 ms', (at - since) / 2)) end
$$;
comment on function {schema}.look_again is 'Internal: when to look again for a row that others have locked.';

-- For a claim that got less than it asked for. Rows that it could have taken are still there: others have them
-- locked, maybe without taking them, so it is worth to look again soon. Null: there are none.
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
comment on function {schema}.look_again_at is 'Internal: when to look again for rows that others have locked.';

create or replace function {schema}.claim(
    queue_ids        bigint[],
    qty              integer,
    lease_ms         bigint default null,
    worker_id        bigint default null,
    default_lease_ms bigint default 30000,
    after_queue      bigint default 0,
    floor_priority   integer default null,
    floor_message    bigint default null,
    looked_at        timestamptz default null,
    swept_at         timestamptz default null
) returns table (
    message_id bigint, queue_id bigint, priority integer, delivery integer, strikes integer,
    attempts integer, enqueued_at timestamptz, visible_at timestamptz, last_error text, payload json,
    now_at timestamptz, next_due timestamptz, looked boolean, last_queue bigint, more boolean
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    at        timestamptz := {schema}.clock();
    due_floor timestamptz;
    scope     record;
    leases    interval[];
    picked    tid[];
    due_tids       tid[];
    due_ids        bigint[];
    due_priorities integer[];
    due_times      timestamptz[];
    due_left       timestamptz;  -- from when on due rows are left
    suspect_time   timestamptz;
    progressed     tid[];
    poison    bigint[];
    reasons   text[];
    suspect   bigint;
    lost      bigint[];  -- whose leases ended without a report; the next two are aligned
    lost_deliveries integer[];
    lost_workers    bigint[];
    poison_queues   bigint[];
    remaining integer := claim.qty;
    ceiling   integer := 2147483647;
    level     integer;
    heads     bigint[];
    share     integer;
    uniform   boolean;
    rounds    boolean;
    got       integer;
begin
    if {schema}.may_claim(claim.qty, claim.lease_ms, claim.default_lease_ms, claim.floor_priority, claim.looked_at,
                          claim.swept_at) is not true then
        perform {schema}.refuse_claim(claim.qty, claim.lease_ms, claim.default_lease_ms, claim.floor_priority,
                                      claim.looked_at, claim.swept_at);
    end if;
    due_floor := case when at - claim.swept_at < interval '10 seconds'
                      then claim.looked_at - interval '1 second' else '-infinity' end;
    scope := {schema}.claim_queues(claim.queue_ids, claim.after_queue);
    select array_agg({schema}.ms(coalesce(claim.lease_ms, l, claim.default_lease_ms)))
    into leases from unnest(scope.leases_ms) l;
    looked := false;

    -- The usual case: one queue with plenty to do.
    if cardinality(scope.live) = 1 then
        picked := coalesce(({schema}.pick_ready(
            scope.live[1], claim.qty, claim.floor_priority, claim.floor_message
        )).tids, '{}');
    end if;

    -- The first pass leaves due rows out where there was a look just now; the second comes only when
    -- ready rows did not fill the claim.
    for pass in 1..2 loop
        exit when remaining = 0 or looked or scope.live is null;
        if pass = 2 or claim.looked_at is null or at - claim.looked_at >= interval '100 milliseconds'
           or (cardinality(scope.live) = 1 and cardinality(picked) < claim.qty) then
            looked := true;
            select array_agg(d.tid) filter (where d.good), array_agg(d.message_id) filter (where d.good),
                   array_agg(d.priority) filter (where d.good), array_agg(d.due_at) filter (where d.good),
                   array_agg(d.message_id) filter (where d.poison),
                   array_agg(d.queue_id) filter (where d.poison),
                   array_agg(format('poison: handed out %s times without a report', d.strikes))
                       filter (where d.poison),
                   min(d.message_id) filter (where d.suspect), min(d.due_at) filter (where d.suspect),
                   array_agg(d.tid) filter (where d.progressed),
                   array_agg(d.message_id) filter (where d.state = 'leased' and not d.poison),
                   array_agg(d.delivery) filter (where d.state = 'leased' and not d.poison),
                   array_agg(d.worker_id) filter (where d.state = 'leased' and not d.poison),
                   -- A queue that gave as many as were asked for has more, none of them older.
                   min(d.last_of_queue) filter (where d.of_queue >= remaining)
            into due_tids, due_ids, due_priorities, due_times, poison, poison_queues, reasons, suspect, suspect_time,
                 progressed, lost, lost_deliveries, lost_workers, due_left
            from (
                select x.*, h.queue_id, p.progressed, j.*, case when p.progressed then 0 else x.hand_outs end as strikes,
                       count(*) over (partition by h.queue_id) as of_queue,
                       max(x.due_at) over (partition by h.queue_id) as last_of_queue
                from unnest(scope.live, scope.strikes_limits) as h (queue_id, strikes_limit)
                cross join lateral (
                    select m.ctid as tid, m.message_id, m.priority, m.delivery, m.state, m.worker_id,
                           m.visible_at as due_at, m.strikes as hand_outs, m.run_id is not null as is_task
                    from {schema}.messages m
                    where m.queue_id = h.queue_id and m.state <> 'ready'
                      and m.visible_at <= at and m.visible_at > due_floor
                    order by m.visible_at limit remaining for update skip locked
                ) x
                cross join lateral (
                    select x.state = 'leased' and exists (
                        select from {schema}.steps s
                        where s.run_id = x.message_id and s.delivery = x.delivery
                          and s.status <> 'RUNNING'
                        offset 0  -- one look-up, whatever the planner believes about the table
                    ) as progressed
                    offset 0  -- or the look is repeated wherever its result is used
                ) p
                cross join lateral (
                    select g.good, g.poison, not g.good and not g.poison as suspect
                    from (
                        -- A task that no worker held is judged by its attempts: see fail_exhausted().
                        select p.progressed or x.hand_outs < least(2, h.strikes_limit) as good,
                               not p.progressed and x.hand_outs >= h.strikes_limit
                                   and (not x.is_task or x.worker_id is not null) as poison
                    ) g
                ) j
            ) d;
            if poison is not null then
                perform {schema}.bury_locked(poison, reasons);
            end if;
            if suspect is not null then
                due_left := least(due_left, suspect_time);
            end if;
            if suspect is not null and remaining = claim.qty then
                picked := array(select m.ctid from {schema}.messages m where m.message_id = suspect);
                remaining := 1;
                due_left := least(due_left, (select min(t) from unnest(due_times) t));
                due_ids := null;
                due_times := null;
            else
                suspect := null;
            end if;
        end if;

        -- Rounds over several queues, or with due rows; one queue alone has its rows picked already.
        rounds := suspect is null and (cardinality(scope.live) > 1 or due_ids is not null);
        while remaining > 0 loop
            if rounds then
                level := null;
                uniform := false;
                share := (remaining + cardinality(scope.live) - 1) / cardinality(scope.live);
                if due_ids is null then
                    -- Mostly all have one priority: then a fair share of each queue is right.
                    select (array_agg(r.tid))[1:remaining], min(r.priority) = max(r.priority)
                    into picked, uniform
                    from unnest(scope.live) as h (queue_id)
                    cross join lateral (
                        select m.ctid as tid, m.priority from {schema}.messages m
                        where m.queue_id = h.queue_id and m.state = 'ready'
                        order by -m.priority, m.message_id limit share for update skip locked
                    ) r;
                    exit when picked is null;
                end if;
                if not uniform then
                    -- The highest priority that any queue has, shared among the queues that have it,
                    -- merged with the due rows of at least that priority.
                    select max(h.priority), array_agg(h.queue_id order by h.place)
                        filter (where h.priority = h.top)
                    into level, heads
                    from (
                        select u.queue_id, u.place, p.priority, max(p.priority) over () as top
                        from unnest(scope.live) with ordinality as u (queue_id, place)
                        cross join lateral (
                            select m.priority from {schema}.messages m
                            where m.queue_id = u.queue_id and m.state = 'ready'
                              and -m.priority >= -ceiling
                            order by -m.priority, m.message_id limit 1
                        ) p
                    ) h;
                    picked := array(
                        select c.tid
                        from (
                            select d.tid, d.priority, d.message_id
                            from unnest(due_tids, due_ids, due_priorities)
                                as d (tid, message_id, priority)
                            where level is null or d.priority >= level
                            union all
                            select r.tid, r.priority, r.message_id
                            from unnest(heads) as h (queue_id)
                            cross join lateral (
                                select m.ctid as tid, m.priority, m.message_id
                                from {schema}.messages m
                                where m.queue_id = h.queue_id and m.state = 'ready'
                                  and -m.priority = -level
                                order by m.message_id
                                limit (remaining + cardinality(heads) - 1) / cardinality(heads)
                                for update skip locked
                            ) r
                        ) c
                        order by c.priority desc, c.message_id
                        limit remaining
                    );
                end if;
            end if;
            return query
            update {schema}.messages m
            set state = 'leased', delivery = m.delivery + 1,
                strikes = case when m.ctid = any(progressed) then 1 else m.strikes + 1 end,
                -- A worker extends its leases, whatever the timeout of a task is.
                visible_at = at + coalesce(case when claim.worker_id is null then {schema}.ms(m.lease_ms) end,
                                           leases[array_position(scope.live, m.queue_id)]),
                worker_id = claim.worker_id
            where m.ctid = any(picked)
            returning m.message_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts,
                      m.enqueued_at, m.visible_at, m.last_error, m.payload,
                      null::timestamptz, null::timestamptz, null::boolean, null::bigint, null::boolean;
            get diagnostics got = row_count;
            remaining := remaining - got;
            exit when not rounds or (got = 0 and level is null);
            if got = 0 then
                ceiling := level - 1;  -- all of this level is in other hands
            end if;
            select array_agg(d.tid), array_agg(d.message_id), array_agg(d.priority), array_agg(d.due_at)
            into due_tids, due_ids, due_priorities, due_times
            from unnest(due_tids, due_ids, due_priorities, due_times) as d (tid, message_id, priority, due_at)
            where d.tid <> all(picked);
        end loop;
        picked := null;
    end loop;
    if lost is not null then
        perform {schema}.add_lost_leases(lost, lost_deliveries, lost_workers, at);
        perform {schema}.give_attempts_back(lost, lost_deliveries, lost_workers);
    end if;

    next_due := least(due_left, (select min(t) from unnest(due_times) t));
    if next_due is null and remaining > 0 then
        next_due := least({schema}.look_again_at(scope.live, due_floor, at), (
            select min(x.visible_at) from unnest(scope.live) as h (queue_id)
            cross join lateral (
                select m.visible_at from {schema}.messages m
                where m.queue_id = h.queue_id and m.state <> 'ready' and m.visible_at > at
                order by m.visible_at limit 1
            ) x
        ));
    end if;
    return query select null::bigint, null::bigint, null::integer, null::integer, null::integer,
        null::integer, null::timestamptz, null::timestamptz, null::text,
        case when coalesce(lost, poison) is not null then json_build_object(
            'lost', lost, 'workers', lost_workers,
            'poison', poison, 'queues', poison_queues, 'reasons', reasons
        ) end,
        -- Poison may have filled the look: there may be more due rows behind it.
        at, next_due, looked, scope.last_queue, scope.more or poison is not null;
end
$$;
comment on function {schema}.claim is
    'Hands out ready messages of a set of queues; the last row tells about the claim itself.';

create or replace function {schema}.dequeue(
    queue_name text, qty integer default 1, lease_ms bigint default null
) returns table (
    message_id bigint, delivery integer, priority integer, strikes integer, attempts integer,
    enqueued_at timestamptz, visible_at timestamptz, payload json
)
language sql
as $$
    select c.message_id, c.delivery, c.priority, c.strikes, c.attempts, c.enqueued_at, c.visible_at,
           c.payload
    from {schema}.claim(array[{schema}.dequeuable(queue_name)], qty, lease_ms) c
    where c.message_id is not null
    order by c.priority desc, c.message_id
$$;
comment on function {schema}.dequeue is
    'Hands out up to qty messages of a queue with a lease; settle each by its id and delivery.';
