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
--
-- The parts are in queue/claim_parts.sql, in the order in which a claim uses them:
--   claim_scope    the queues from which it may take something
--   pick_ready     ready rows of one queue: mostly that is all
--   collect_due    due rows; poison is buried, a suspect singled out
--   pick_round     several queues, or due rows: top_level and merge_due, until the claim is full
--   find_next_due  when to come again

create or replace function {schema}.claim(
    queue_ids        bigint[],
    qty              integer,
    lease_ms         bigint default null,
    worker_id        bigint default null,
    default_lease_ms bigint default {rule:default_lease_ms},
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
as $$
#variable_conflict use_column
declare
    at             timestamptz := {schema}.clock();
    due_floor      timestamptz;
    scope          record;
    leases         interval[];
    picked         tid[];
    suspect        tid[];        -- handed out alone
    due_tids       tid[];        -- with the next three: due rows that are still to be merged with ready ones
    due_ids        bigint[];
    due_priorities integer[];
    due_times      timestamptz[];
    due_left       timestamptz;  -- from when on due rows are left
    progressed     tid[];
    lost           bigint[];     -- leases that ended without a report; the next two are aligned
    lost_deliveries integer[];
    lost_workers   bigint[];
    log            json;
    remaining      integer := claim.qty;
    ceiling        integer := 2147483647;
    rounds         boolean;
    round          record;
    got            integer;
begin
    if {schema}.may_claim(claim.qty, claim.lease_ms, claim.default_lease_ms, claim.floor_priority, claim.looked_at,
                          claim.swept_at) is not true then
        perform {schema}.refuse_claim(claim.qty, claim.lease_ms, claim.default_lease_ms, claim.floor_priority,
                                      claim.looked_at, claim.swept_at);
    end if;
    due_floor := case when at - claim.swept_at < interval '10 seconds'
                      then claim.looked_at - interval '1 second' else '-infinity' end;
    scope := {schema}.claim_scope(claim.queue_ids, claim.after_queue);
    select array_agg({schema}.ms(coalesce(claim.lease_ms, l, claim.default_lease_ms)))
    into leases from unnest(scope.leases_ms) l;
    looked := false;
    more := scope.more;

    -- The usual case: one queue with plenty to do.
    if cardinality(scope.live) = 1 then
        picked := coalesce(({schema}.pick_ready(
            scope.live[1], claim.qty, claim.floor_priority, claim.floor_message
        )).tids, '{}');
    end if;

    -- The first pass leaves due rows out if they were collected just now; the second comes only when
    -- ready rows did not fill the claim.
    for pass in 1..2 loop
        exit when remaining = 0 or looked or scope.live is null;
        if pass = 2 or claim.looked_at is null or at - claim.looked_at >= interval '100 milliseconds'
           or (cardinality(scope.live) = 1 and cardinality(picked) < claim.qty) then
            looked := true;
            select d.tids, d.ids, d.priorities, d.times, d.left_at, d.suspect, d.progressed, d.lost,
                   d.lost_deliveries, d.lost_workers, d.log, scope.more or d.buried
            into due_tids, due_ids, due_priorities, due_times, due_left, suspect, progressed, lost,
                 lost_deliveries, lost_workers, log, more
            from {schema}.collect_due(
                scope.live, scope.strikes_limits, remaining, remaining = claim.qty, due_floor, at) d;
            if suspect is not null then
                picked := suspect;
                remaining := 1;
            end if;
        end if;

        -- Rounds over several queues, or with due rows; one queue alone has its rows picked already.
        rounds := suspect is null and (cardinality(scope.live) > 1 or due_ids is not null);
        while remaining > 0 loop
            if rounds then
                round := {schema}.pick_round(scope.live, remaining, ceiling, due_tids, due_ids, due_priorities);
                exit when round.tids is null;
                picked := round.tids;
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
            exit when not rounds;
            if got = 0 then
                exit when round.level is null;
                ceiling := round.level - 1;  -- other claims hold all of this level
            end if;
            if due_ids is not null then
                select array_agg(d.tid), array_agg(d.message_id), array_agg(d.priority), array_agg(d.due_at)
                into due_tids, due_ids, due_priorities, due_times
                from unnest(due_tids, due_ids, due_priorities, due_times) as d (tid, message_id, priority, due_at)
                where d.tid <> all(picked);
            end if;
        end loop;
        picked := null;
    end loop;
    if lost is not null then
        perform {schema}.add_lost_leases(lost, lost_deliveries, lost_workers, at);
        perform {schema}.give_attempts_back(lost, lost_deliveries, lost_workers);
    end if;

    next_due := least(due_left, (select min(t) from unnest(due_times) t));
    if next_due is null and remaining > 0 then
        next_due := {schema}.find_next_due(scope.live, due_floor, at);
    end if;
    return query select null::bigint, null::bigint, null::integer, null::integer, null::integer,
        null::integer, null::timestamptz, null::timestamptz, null::text, log,
        at, next_due, looked, scope.last_queue, more;
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
