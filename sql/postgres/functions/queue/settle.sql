-- Settling: the operations of the holder of a delivery. Every function takes aligned arrays, never waits for a lock,
-- never raises for data, and returns one outcome per item:
--
--   done        recorded (with `repeated` also: already recorded by this delivery)
--   lease_lost  this delivery is not the last one, or it is settled: nothing was changed
--   cancelled   the same, because the message belonged to a run that was cancelled or deleted
--   busy        another session has locked the row: try again
--   invalid     an argument can never be recorded, for example a time out of bounds: nothing was changed
--   workflow_queue   for archive, delete, fail and bury: the message belongs to a run or a task, which other
--               functions end; its holder may extend, release and hand it back
--
-- `repeated` is for a caller whose earlier commit lost its answer: if this delivery may have been settled then, the
-- outcome is done.
--
-- The planner settings are part of the functions, because the statistics of a queue table are always wrong. So the plan
-- does not depend on the caller's settings or on statistics. Locked rows are addressed by ctid, which saves a second
-- lookup and is safe because a locked row cannot move.

-- Locks the rows of these leases that can be settled now, in the order of ids. PL/pgSQL keeps the plan; the server
-- would plan the body of an SQL function again for each call, which takes longer than settling one message.
create or replace function {schema}.lock_leases(
    message_ids bigint[], deliveries integer[],
    out tids tid[], out ids bigint[], out held_deliveries integer[], out queues bigint[]
)
language plpgsql
as $$
begin
    select array_agg(held.tid), array_agg(held.message_id), array_agg(held.delivery), array_agg(held.queue_id)
    into tids, ids, held_deliveries, queues
    from (
        -- One lookup per lease, independent of the planner's statistics.
        select r.tid, r.message_id, l.delivery, r.queue_id
        from (
            select u.message_id, u.delivery
            from unnest(message_ids, deliveries) as u (message_id, delivery)
            order by u.message_id
        ) l
        cross join lateral (
            select m.ctid as tid, m.message_id, m.queue_id from {schema}.messages m
            where m.message_id = l.message_id and m.delivery = l.delivery
              and m.state || '' = 'leased'  -- with a plain condition the planner might choose messages_due
            for update skip locked
        ) r
    ) held;
end
$$;
comment on function {schema}.lock_leases is 'Internal: locks the messages of these leases.';

-- Leaves out messages of runs and tasks.
create or replace function {schema}.lock_plain_leases(
    message_ids bigint[], deliveries integer[],
    out tids tid[], out ids bigint[], out held_deliveries integer[]
)
language plpgsql
as $$
declare
    held record := {schema}.lock_leases(message_ids, deliveries);
begin
    tids := held.tids;
    ids := held.ids;
    held_deliveries := held.held_deliveries;
    -- One lookup for the batch: its messages mostly have one queue, and the queue of a workflow is an error.
    if exists (select from {schema}.workflows w where w.workflow_id = any(held.queues)) then
        select array_agg(l.tid), array_agg(l.message_id), array_agg(l.delivery)
        into tids, ids, held_deliveries
        from unnest(held.tids, held.ids, held.held_deliveries, held.queues) as l (tid, message_id, delivery, queue_id)
        where not exists (select from {schema}.workflows w where w.workflow_id = l.queue_id offset 0);
    end if;
end
$$;
comment on function {schema}.lock_plain_leases is
    'Internal: locks the messages of these leases, except those of runs and tasks.';

-- The reasons why leases could not be locked; called only in this case. If neither the message nor a record of it
-- exists, it was deleted; with `repeated`, by this delivery. A run stores the delivery that ended it.
create or replace function {schema}.settle_outcomes(
    message_ids bigint[], deliveries integer[], settled bigint[], settled_deliveries integer[],
    repeated boolean
) returns text[]
language plpgsql
as $$
begin
    return (
        select array_agg(
            case
                when (l.message_id, l.delivery) in (select * from unnest(settled, settled_deliveries)) then 'done'
                when m.delivery = l.delivery and m.state = 'leased' then 'busy'
                when exists (
                    select from {schema}.runs r where r.run_id = l.message_id and r.status = 'CANCELLED'
                    offset 0  -- one lookup, independent of the planner's statistics
                ) then 'cancelled'
                when not repeated then 'lease_lost'
                when coalesce(
                    m.delivery, a.delivery,
                    (select r.delivery from {schema}.runs r where r.run_id = l.message_id), l.delivery
                ) = l.delivery then 'done'
                else 'lease_lost'
            end order by l.ordinality
        )
        from unnest(message_ids, deliveries) with ordinality as l (message_id, delivery, ordinality)
        left join {schema}.messages m on m.message_id = l.message_id
        left join {schema}.archive a on a.message_id = l.message_id
    );
end
$$;
comment on function {schema}.settle_outcomes is
    'Internal: the outcome of each lease, called if some could not be locked.';

-- settle_outcomes() after lock_plain_leases().
create or replace function {schema}.plain_outcomes(
    message_ids bigint[], deliveries integer[], settled bigint[], settled_deliveries integer[],
    repeated boolean
) returns text[]
language sql
as $$
    select array_agg(
        case
            when o.outcome = 'done' then o.outcome
            when exists (
                select from {schema}.messages m join {schema}.workflows w on w.workflow_id = m.queue_id
                where m.message_id = o.message_id offset 0
            ) or exists (
                select from {schema}.runs r where r.run_id = o.message_id offset 0
            ) then 'workflow_queue'
            else o.outcome
        end order by o.place
    )
    from unnest(
        message_ids,
        {schema}.settle_outcomes(message_ids, deliveries, settled, settled_deliveries, repeated)
    ) with ordinality as o (message_id, outcome, place)
$$;
comment on function {schema}.plain_outcomes is
    'Internal: the outcome of each lease of a plain message, called if some could not be locked.';

create or replace function {schema}.archive(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    held   record;
begin
    held := {schema}.lock_plain_leases(message_ids, deliveries);
    with gone as (
        delete from {schema}.messages m where m.ctid = any(held.tids) returning m.*
    )
    insert into {schema}.archive
        (message_id, queue_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at,
         archived_at, worker_id, payload)
    select g.message_id, g.queue_id, g.priority, g.delivery, g.strikes, g.attempts, false, null,
           g.enqueued_at, now_at, g.worker_id, g.payload
    from gone g
    where (select q.keep_archive from {schema}.queues q where q.queue_id = g.queue_id);
    if cardinality(held.ids) = cardinality(message_ids) then
        return array_fill('done'::text, array[cardinality(message_ids)]);
    end if;
    return {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.archive is
    'Settles messages as done: archives them, or deletes them if the queue keeps no archive. Returns one outcome per item.';

create or replace function {schema}.delete(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    held record;
begin
    held := {schema}.lock_plain_leases(message_ids, deliveries);
    delete from {schema}.messages m where m.ctid = any(held.tids);
    if cardinality(held.ids) = cardinality(message_ids) then
        return array_fill('done'::text, array[cardinality(message_ids)]);
    end if;
    return {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.delete is 'Deletes messages without archiving them. Returns one outcome per item.';

create or replace function {schema}.release(
    message_ids bigint[], deliveries integer[], delays_ms bigint[] default null,
    repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    held    record;
    invalid boolean[] := {schema}.invalid_times(coalesce(cardinality(message_ids), 0), delays_ms, 0, true);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    held := {schema}.lock_leases(message_ids, deliveries);
    update {schema}.messages m
    set state = case when coalesce(l.delay_ms, 0) > 0 then 'waiting' else 'ready' end,
        visible_at = now_at + {schema}.ms(coalesce(l.delay_ms, 0)), strikes = 0, worker_id = null
    from unnest(message_ids, delays_ms) as l (message_id, delay_ms)
    where m.ctid = any(held.tids) and m.message_id = l.message_id;
    perform {schema}.unstart_tasks(held.ids);
    return {schema}.mark_invalid(
        {schema}.settle_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated), invalid);
end
$$;
comment on function {schema}.release is
    'Releases messages, visible again after the delay. Uses no strike. Returns one outcome per item.';

-- Undoes the delivery, except for the delivery number, which never decreases. A message that still has strikes stays a
-- due row, so that ready rows never have strikes.
create or replace function {schema}.hand_back(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    held   record;
begin
    held := {schema}.lock_leases(message_ids, deliveries);
    update {schema}.messages m
    set state = case when m.strikes > 1 then 'waiting' else 'ready' end,
        visible_at = now_at, strikes = m.strikes - 1, worker_id = null
    where m.ctid = any(held.tids);
    perform {schema}.unstart_tasks(held.ids);
    return {schema}.settle_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.hand_back is
    'Releases messages whose handler was never started. Returns one outcome per item.';

create or replace function {schema}.extend(
    message_ids bigint[], deliveries integer[], leases_ms bigint[]
) returns text[]
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    held    record;
    invalid boolean[] := {schema}.invalid_times(coalesce(cardinality(message_ids), 0), leases_ms, 0, false);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    held := {schema}.lock_leases(message_ids, deliveries);
    update {schema}.messages m
    set visible_at = now_at + {schema}.ms(l.lease_ms)
    from unnest(message_ids, leases_ms) as l (message_id, lease_ms)
    where m.ctid = any(held.tids) and m.message_id = l.message_id;
    return {schema}.mark_invalid(
        {schema}.settle_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, false), invalid);
end
$$;
comment on function {schema}.extend is
    'Sets the end of leases to the given time from now. Returns one outcome per item.';

-- The messages that can become dead letters now: as in lock_endable_runs(), and their dead letter queue is not being deleted;
-- the caller must read it again. Does not wait for locks.
create or replace function {schema}.lock_buriable(message_ids bigint[]) returns bigint[]
language plpgsql
as $$
declare
    free bigint[] := {schema}.lock_endable_runs(message_ids);
begin
    if not exists (select from {schema}.queues q where q.dead_letter_queue_id is not null) then
        return free;
    end if;
    return array(
        select m.message_id
        from {schema}.messages m join {schema}.queues q using (queue_id)
        where m.message_id = any(free)
          and case when q.dead_letter_queue_id is null or m.run_id is not null then true
                   else {schema}.try_share_queue(q.dead_letter_queue_id) end
    );
end
$$;
comment on function {schema}.lock_buriable is 'Internal: the messages that can become dead letters now.';

-- Moves dead letters to the archive with the reason, or to the queue's dead letter queue. Runs and tasks fail instead.
-- The caller has locked the rows.
create or replace function {schema}.bury_locked(message_ids bigint[], reasons text[]) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    free   bigint[] := {schema}.lock_buriable(message_ids);
begin
    if cardinality(free) < cardinality(message_ids) then
        -- Runs that cannot be ended now are due again after a moment, as tasks are.
        update {schema}.messages m
        set state = 'waiting', visible_at = now_at + interval '{rule:busy_end_pause_ms} milliseconds', worker_id = null
        where m.message_id = any(message_ids) and m.message_id <> all(free);
        select array_agg(b.message_id), array_agg(b.reason) into message_ids, reasons
        from unnest(message_ids, reasons) as b (message_id, reason) where b.message_id = any(free);
    end if;
    perform {schema}.bury_tasks(message_ids, reasons, now_at);
    -- This deletes the messages of the runs, so that the statements below do not find them.
    perform {schema}.fail_runs(array_agg(b.run_id order by b.run_id), array_agg(b.type order by b.run_id),
                               array_agg(b.message order by b.run_id))
    from (
        select r.run_id, case when b.reason like 'poison: %' then '{event:poison}' else '{event:buried}' end as type,
               regexp_replace(b.reason, '^poison: ', '') as message
        from unnest(message_ids, reasons) as b (message_id, reason)
        join {schema}.runs r on r.run_id = any(array[b.message_id])
    ) b
    having count(*) > 0;

    update {schema}.messages m
    set queue_id = q.dead_letter_queue_id, state = 'ready', visible_at = now_at, strikes = 0,
        attempts = 0, worker_id = null, last_error = b.reason
    from unnest(message_ids, reasons) as b (message_id, reason), {schema}.queues q
    where m.message_id = b.message_id and q.queue_id = m.queue_id
      and q.dead_letter_queue_id is not null and m.run_id is null;

    with gone as (
        delete from {schema}.messages m
        where m.message_id = any(message_ids) and m.state || '' <> 'ready' and m.run_id is null
        returning m.*
    )
    insert into {schema}.archive
        (message_id, queue_id, priority, delivery, strikes, attempts, dead, reason, enqueued_at,
         archived_at, worker_id, payload)
    select g.message_id, g.queue_id, g.priority, g.delivery, g.strikes, g.attempts, true, b.reason,
           g.enqueued_at, now_at, g.worker_id, g.payload
    from gone g join unnest(message_ids, reasons) as b (message_id, reason) using (message_id);
end
$$;
comment on function {schema}.bury_locked is 'Internal: makes dead letters of messages that the caller has locked.';

create or replace function {schema}.bury(
    message_ids bigint[], deliveries integer[], reasons text[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    held record;
    free bigint[];
begin
    held := {schema}.lock_plain_leases(message_ids, deliveries);
    free := {schema}.lock_buriable(held.ids);
    if cardinality(free) < cardinality(held.ids) then
        select array_agg(h.id) as ids, array_agg(h.delivery) as held_deliveries into held
        from unnest(held.ids, held.held_deliveries) as h (id, delivery) where h.id = any(free);
    end if;
    perform {schema}.bury_locked(array_agg(l.message_id), array_agg(l.reason))
    from unnest(message_ids, reasons) as l (message_id, reason)
    where l.message_id = any(held.ids);
    return {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.bury is
    'Makes dead letters of messages immediately, with a reason. Returns one outcome per item.';

-- Like fail(), but a message that becomes a dead letter has the outcome `dead_letter`.
create or replace function {schema}.fail_or_bury(
    message_ids bigint[], deliveries integer[], errors text[], delays_ms bigint[],
    repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at    timestamptz := {schema}.clock();
    held      record;
    exhausted record;
    outcomes  text[];
    invalid   boolean[] := {schema}.invalid_times(coalesce(cardinality(message_ids), 0), delays_ms, 0, false);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    held := {schema}.lock_plain_leases(message_ids, deliveries);
    update {schema}.messages m
    set attempts = m.attempts + 1, last_error = l.error, strikes = 0,
        state = 'waiting', visible_at = now_at + {schema}.ms(l.delay_ms), worker_id = null
    from unnest(message_ids, errors, delays_ms) as l (message_id, error, delay_ms)
    where m.ctid = any(held.tids) and m.message_id = l.message_id;

    select array_agg(m.message_id) as ids, array_agg(format('{text:failed_times}', m.attempts, m.last_error)) as reasons
    into exhausted
    from {schema}.messages m join {schema}.queues q using (queue_id)
    where m.message_id = any(held.ids) and q.max_attempts > 0 and m.attempts >= q.max_attempts;
    if exhausted.ids is not null then
        perform {schema}.bury_locked(exhausted.ids, exhausted.reasons);
    end if;
    outcomes := {schema}.mark_invalid(
        {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated), invalid);
    if exhausted.ids is null then
        return outcomes;
    end if;
    return array(
        select case when o.outcome = 'done' and o.message_id = any(exhausted.ids) and not exists (
                        -- Not buried yet: its dead letter queue was locked.
                        select from {schema}.messages m where m.message_id = o.message_id and m.attempts > 0 offset 0
                    ) then 'dead_letter' else o.outcome end
        from unnest(message_ids, outcomes) with ordinality as o (message_id, outcome, place)
        order by o.place
    );
end
$$;
comment on function {schema}.fail_or_bury is
    'Like fail(), with the outcome dead_letter for messages that became dead letters.';

create or replace function {schema}.fail(
    message_ids bigint[], deliveries integer[], errors text[], delays_ms bigint[],
    repeated boolean default false
) returns text[]
language sql
as $$
    select array_replace(
        {schema}.fail_or_bury(message_ids, deliveries, errors, delays_ms, repeated), 'dead_letter', 'done')
$$;
comment on function {schema}.fail is
    'Records failures: the message is delivered again after the delay, or becomes a dead letter at the queue''s max_attempts.';

-- The functions above for a caller that names the queue, like the C++ library: a message leased from another queue is
-- not changed. The queue of a leased message never changes, so the check holds.
create or replace function {schema}.settle(
    queue_name text, action text, message_ids bigint[], deliveries integer[], delays_ms bigint[] default null,
    reasons text[] default null, repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    id        bigint := {schema}.queue_id(queue_name);
    elsewhere boolean[];
    rest      record;
    outcomes  text[];
begin
    perform {schema}.check_word(
        'action', coalesce(action, ''),
        array['archive', 'delete', 'release', 'hand_back', 'fail', 'bury', 'extend']);
    elsewhere := array(
        select exists (
            select from {schema}.messages m
            where m.message_id = l.message_id and m.delivery = l.delivery and m.state || '' = 'leased'
              and m.queue_id + 0 <> id
            offset 0
        )
        from unnest(message_ids, deliveries) with ordinality as l (message_id, delivery, place)
        order by l.place
    );
    if true = any(elsewhere) then
        select coalesce(array_agg(l.message_id order by l.place), '{}') as ids,
               coalesce(array_agg(l.delivery order by l.place), '{}') as deliveries,
               array_agg(l.delay_ms order by l.place) as delays_ms, array_agg(l.reason order by l.place) as reasons
        into rest
        from unnest(message_ids, deliveries, delays_ms, reasons, elsewhere) with ordinality
            as l (message_id, delivery, delay_ms, reason, elsewhere, place)
        where not l.elsewhere;
        outcomes := {schema}.settle(
            queue_name, action, rest.ids, rest.deliveries, rest.delays_ms, rest.reasons, repeated);
        return array(
            select case when l.elsewhere then 'other_queue' else
                        outcomes[count(*) filter (where not l.elsewhere) over (order by l.place)] end
            from unnest(elsewhere) with ordinality as l (elsewhere, place)
            order by l.place
        );
    end if;
    return case action
        when 'archive' then {schema}.archive(message_ids, deliveries, repeated)
        when 'delete' then {schema}.delete(message_ids, deliveries, repeated)
        when 'release' then {schema}.release(message_ids, deliveries, delays_ms, repeated)
        when 'hand_back' then {schema}.hand_back(message_ids, deliveries, repeated)
        when 'fail' then {schema}.fail(message_ids, deliveries, reasons, delays_ms, repeated)
        when 'bury' then {schema}.bury(message_ids, deliveries, reasons, repeated)
        else {schema}.extend(message_ids, deliveries, delays_ms) end;
end
$$;
comment on function {schema}.settle is
    'Calls archive, delete, release, hand_back, fail, bury or extend for messages of one queue. Returns one outcome per item.';
