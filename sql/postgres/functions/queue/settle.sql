-- Settling: what the holder of a delivery may do with a message. Every function takes aligned arrays,
-- never waits for a lock, never raises for data, and returns one outcome per item:
--
--   done        recorded (or: already recorded by this same delivery, where `repeated`)
--   lease_lost  this delivery is not the last one, or it is settled: nothing was changed
--   cancelled   the same, because the message was a run's that was cancelled or deleted
--   busy        somebody has the row locked at the moment: ask again
--   invalid     what was given can never be recorded, a time out of bounds for example: nothing was changed
--   workflow_queue   of archive, delete, fail and bury: the message carries a run or a task, which end by their own
--               functions; their holders may extend, release and hand them back
--
-- `repeated` is for a caller whose earlier commit lost its answer: what this delivery may have written
-- then counts as done.
--
-- The planner settings are part of the functions, because statistics of a queue table are always
-- wrong: nobody's plan can go bad, whoever calls. Rows are addressed by ctid behind the lock, which
-- saves a second look-up and is safe because a locked row cannot move.

-- The rows of these leases that can be settled now, locked in id order.
create or replace function {schema}.lock_leases(
    message_ids bigint[], deliveries integer[],
    out tids tid[], out ids bigint[], out held_deliveries integer[]
)
language sql
as $$
    select array_agg(held.tid), array_agg(held.message_id), array_agg(held.delivery)
    from (
        -- One look-up per lease, whatever the planner believes about the table.
        select r.tid, r.message_id, l.delivery
        from (
            select u.message_id, u.delivery
            from unnest(message_ids, deliveries) as u (message_id, delivery)
            order by u.message_id
        ) l
        cross join lateral (
            select m.ctid as tid, m.message_id from {schema}.messages m
            where m.message_id = l.message_id and m.delivery = l.delivery
              and m.state || '' = 'leased'  -- as a plain state it would invite the index messages_due
            for update skip locked
        ) r
    ) held
$$;
comment on function {schema}.lock_leases is 'Internal: locks the messages of these leases.';

-- Skips messages that carry a run or a task; the check is part of the locking scan.
create or replace function {schema}.lock_plain_leases(
    message_ids bigint[], deliveries integer[],
    out tids tid[], out ids bigint[], out held_deliveries integer[]
)
language sql
as $$
    select array_agg(held.tid), array_agg(held.message_id), array_agg(held.delivery)
    from (
        select r.tid, r.message_id, l.delivery
        from (
            select u.message_id, u.delivery
            from unnest(message_ids, deliveries) as u (message_id, delivery)
            order by u.message_id
        ) l
        cross join lateral (
            select m.ctid as tid, m.message_id from {schema}.messages m
            where m.message_id = l.message_id and m.delivery = l.delivery
              and m.state || '' = 'leased'
              and not exists (select from {schema}.workflows w where w.workflow_id = m.queue_id offset 0)
            for update skip locked
        ) r
    ) held
$$;
comment on function {schema}.lock_plain_leases is
    'Internal: locks the messages of these leases, but for those of runs and tasks.';

-- Why some leases could not be locked: only called when that happened. A message of which nothing is
-- left was deleted; in doubt, by us. A run remembers the delivery that ended it.
create or replace function {schema}.settle_outcomes(
    message_ids bigint[], deliveries integer[], settled bigint[], settled_deliveries integer[],
    repeated boolean
) returns text[]
language sql
as $$
    select array_agg(
        case
            when (l.message_id, l.delivery) in (select * from unnest(settled, settled_deliveries)) then 'done'
            when m.delivery = l.delivery and m.state = 'leased' then 'busy'
            when exists (
                select from {schema}.runs r where r.run_id = l.message_id and r.status = 'CANCELLED'
                offset 0  -- one look-up, whatever the planner believes about the table
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
$$;
comment on function {schema}.settle_outcomes is 'Internal: the outcome of each lease, once some could not be locked.';

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
    'Internal: the outcome of each lease that is not a run''s or a task''s, once some could not be locked.';

create or replace function {schema}.archive(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    held   record;
begin
    select * into held from {schema}.lock_plain_leases(message_ids, deliveries);
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
    'Settles messages as done: to the archive, or gone where the queue keeps none. One outcome each.';

create or replace function {schema}.delete(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    held record;
begin
    select * into held from {schema}.lock_plain_leases(message_ids, deliveries);
    delete from {schema}.messages m where m.ctid = any(held.tids);
    if cardinality(held.ids) = cardinality(message_ids) then
        return array_fill('done'::text, array[cardinality(message_ids)]);
    end if;
    return {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.delete is 'Deletes messages without a trace. One outcome each.';

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
    select * into held from {schema}.lock_leases(message_ids, deliveries);
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
    'Gives messages back, visible after the delay. Costs no strike. One outcome each.';

-- As if the hand-out had not been, but for the delivery number, which never goes back. What still has
-- strikes stays a due row, so that ready rows never carry suspicion.
create or replace function {schema}.hand_back(
    message_ids bigint[], deliveries integer[], repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    held   record;
begin
    select * into held from {schema}.lock_leases(message_ids, deliveries);
    update {schema}.messages m
    set state = case when m.strikes > 1 then 'waiting' else 'ready' end,
        visible_at = now_at, strikes = m.strikes - 1, worker_id = null
    where m.ctid = any(held.tids);
    perform {schema}.unstart_tasks(held.ids);
    return {schema}.settle_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated);
end
$$;
comment on function {schema}.hand_back is 'Gives back messages whose handler was never started.';

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
    select * into held from {schema}.lock_leases(message_ids, deliveries);
    update {schema}.messages m
    set visible_at = now_at + {schema}.ms(l.lease_ms)
    from unnest(message_ids, leases_ms) as l (message_id, lease_ms)
    where m.ctid = any(held.tids) and m.message_id = l.message_id;
    return {schema}.mark_invalid(
        {schema}.settle_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, false), invalid);
end
$$;
comment on function {schema}.extend is 'Lets leases end that long from now. One outcome each.';

-- Those of the messages that can be made dead letters now: as free_to_end(), and their dead letter queue, which the
-- caller has to read again, is not being deleted. Nobody waits.
create or replace function {schema}.free_to_bury(message_ids bigint[]) returns bigint[]
language plpgsql
as $$
declare
    free bigint[] := {schema}.free_to_end(message_ids);
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
comment on function {schema}.free_to_bury is 'Internal: those of the messages that can be made dead letters now.';

-- Dead letters: to the archive with the reason, or on to the queue's dead letter queue; a run fails
-- instead, and so does a task. The caller has locked the rows.
create or replace function {schema}.bury_locked(message_ids bigint[], reasons text[]) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    free   bigint[] := {schema}.free_to_bury(message_ids);
begin
    if cardinality(free) < cardinality(message_ids) then
        -- What cannot be ended now comes up again in a moment, as tasks do.
        update {schema}.messages m
        set state = 'waiting', visible_at = now_at + interval '{rule:busy_end_pause_ms} milliseconds', worker_id = null
        where m.message_id = any(message_ids) and m.message_id <> all(free);
        select array_agg(b.message_id), array_agg(b.reason) into message_ids, reasons
        from unnest(message_ids, reasons) as b (message_id, reason) where b.message_id = any(free);
    end if;
    perform {schema}.bury_tasks(message_ids, reasons, now_at);
    -- Their messages are gone after that: what follows does not find them.
    perform {schema}.fail_runs(array_agg(b.run_id), array_agg(b.type), array_agg(b.message))
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
    select * into held from {schema}.lock_plain_leases(message_ids, deliveries);
    free := {schema}.free_to_bury(held.ids);
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
comment on function {schema}.bury is 'Makes dead letters at once, with a reason. One outcome each.';

create or replace function {schema}.fail(
    message_ids bigint[], deliveries integer[], errors text[], delays_ms bigint[],
    repeated boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at    timestamptz := {schema}.clock();
    held      record;
    exhausted record;
    invalid   boolean[] := {schema}.invalid_times(coalesce(cardinality(message_ids), 0), delays_ms, 0, false);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    select * into held from {schema}.lock_plain_leases(message_ids, deliveries);
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
    return {schema}.mark_invalid(
        {schema}.plain_outcomes(message_ids, deliveries, held.ids, held.held_deliveries, repeated), invalid);
end
$$;
comment on function {schema}.fail is
    'Records failures: back after the delay, or a dead letter at the queue''s max_attempts.';

-- The functions above for a caller that names the queue, like the C++ library: a message that is leased from another
-- queue is not changed. A leased message never changes its queue, so the check holds.
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
    'archive, delete, release, hand_back, fail, bury or extend of messages of one queue. One outcome each.';
