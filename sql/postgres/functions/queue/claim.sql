-- The claim: delivers messages of a set of queues, in order of priority and arrival, with a lease.
--
-- Ready rows come from messages_ready, due rows (whose delay or lease has ended) from messages_due, at most `qty` of
-- each. So a claim never sorts a backlog, or a million timers that end at the same time.
--
-- Both indexes keep entries of deleted rows until vacuum removes them, exactly where a claim begins to read. So a
-- caller that claims repeatedly may pass how far it has read:
--   floor_priority, floor_message   the last row that it got from the (single) queue. Ready rows are taken after it,
--                                   and above that priority. Rows that were committed late, before the floor, are found
--                                   by the next claim without a floor. A claim that finds too few rows restarts at the
--                                   beginning by itself.
--   looked_at, swept_at             the time up to which due rows were delivered, and the time at which they were last
--                                   searched from the beginning. While ready rows fill the claim, due rows are searched
--                                   every 100 ms, and from the beginning every 10 s.
--
-- A message with two strikes was delivered twice without a report. It may crash its worker process, so it is delivered
-- alone; if the claim takes other messages, it is left for the next claim. At max_strikes it becomes a dead letter
-- here. For a run, a step recorded by the last delivery also counts as a report, although it does not write the message
-- row.
--
-- The last row has no message_id: it has the current time, the time at which the next row becomes due (or should be
-- checked again, because another session has locked it), whether due rows were searched, the queue after which the next
-- claim starts, and whether queues were left out. Its payload, if it is not null, is for logs: messages whose leases
-- had ended (lost) with their workers, and messages that were not delivered because they are poison, with their queues
-- and reasons. If next_due is not later than the current time, due rows were left, and none of them became due before
-- next_due: the caller passes it to the next claim as looked_at. Otherwise it passes the current time.
--
-- The parts are in queue/claim_parts.sql, in the order in which a claim uses them:
--   claim_scope    the queues from which it may take rows
--   pick_ready     ready rows of one queue: usually this fills the claim
--   collect_due    due rows; buries poison and separates a suspect
--   pick_round     several queues, or due rows: top_level and merge_due, until the claim is full
--   find_next_due  when to claim again

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
    suspect        tid[];        -- delivered alone
    due_tids       tid[];        -- this and the next three: due rows that are not merged with ready rows yet
    due_ids        bigint[];
    due_priorities integer[];
    due_times      timestamptz[];
    due_left       timestamptz;  -- due rows from this time on are left
    due            record;       -- the result of collect_due(), if it was called
    progressed     tid[];
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
    due_floor := case when at - claim.swept_at < interval '{rule:due_sweep_interval_ms} milliseconds'
                      then claim.looked_at - interval '{rule:due_overlap_ms} milliseconds' else '-infinity' end;
    scope := {schema}.claim_scope(claim.queue_ids, claim.after_queue);
    select array_agg({schema}.ms(coalesce(claim.lease_ms, l, claim.default_lease_ms)))
    into leases from unnest(scope.leases_ms) l;
    looked := false;
    more := scope.more;

    -- The usual case: one queue with enough ready rows.
    if cardinality(scope.live) = 1 then
        picked := coalesce(({schema}.pick_ready(
            scope.live[1], claim.qty, claim.floor_priority, claim.floor_message
        )).tids, '{}');
    end if;

    -- The first pass skips due rows if they were collected recently; the second pass is needed only if ready rows did
    -- not fill the claim.
    for pass in 1..2 loop
        exit when remaining = 0 or looked or scope.live is null;
        if pass = 2 or claim.looked_at is null or at - claim.looked_at >= interval '{rule:due_look_interval_ms} milliseconds'
           or (cardinality(scope.live) = 1 and cardinality(picked) < claim.qty) then
            looked := true;
            due := {schema}.collect_due(
                scope.live, scope.strikes_limits, remaining, remaining = claim.qty, due_floor, at);
            due_tids := due.tids;
            due_ids := due.ids;
            due_priorities := due.priorities;
            due_times := due.times;
            due_left := due.left_at;
            suspect := due.suspect;
            progressed := due.progressed;
            log := due.log;
            more := scope.more or due.buried;
            if suspect is not null then
                picked := suspect;
                remaining := 1;
            end if;
        end if;

        -- Rounds over several queues, or with due rows. For one queue without due rows, the rows are picked already.
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
                -- A worker extends its leases, so the timeout of a task does not matter.
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
                ceiling := round.level - 1;  -- other claims have locked all rows of this level
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
    if looked then
        if due.lost is not null then
            perform {schema}.add_lost_leases(due.lost, due.lost_deliveries, due.lost_workers, at);
            perform {schema}.give_attempts_back(due.lost, due.lost_deliveries, due.lost_workers);
        end if;
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
    'Delivers ready messages of a set of queues. The last row describes the claim itself.';

-- For dequeue() of the C++ library: finds a queue and claims from it in one round trip. Callers that wait for a message
-- need the last row of the claim, and the id of the queue, which that row has here.
create or replace function {schema}.claim_queue(
    queue_name       text,
    qty              integer default 1,
    lease_ms         bigint default null,
    default_lease_ms bigint default {rule:default_lease_ms}
) returns table (
    message_id bigint, queue_id bigint, priority integer, delivery integer, strikes integer,
    attempts integer, enqueued_at timestamptz, visible_at timestamptz, last_error text, payload json,
    now_at timestamptz, next_due timestamptz, looked boolean, last_queue bigint, more boolean
)
language plpgsql
as $$
declare
    id bigint := {schema}.dequeuable(claim_queue.queue_name);
begin
    return query
    select c.message_id, id, c.priority, c.delivery, c.strikes, c.attempts, c.enqueued_at, c.visible_at,
           c.last_error, c.payload, c.now_at, c.next_due, c.looked, c.last_queue, c.more
    from {schema}.claim(array[id], claim_queue.qty, claim_queue.lease_ms,
                        default_lease_ms => claim_queue.default_lease_ms) c;
end
$$;
comment on function {schema}.claim_queue is
    'Delivers ready messages of one queue, like dequeue. The last row describes the claim itself, like that of claim.';

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
    'Delivers up to qty messages of a queue with a lease. Settle each by its id and delivery.';
