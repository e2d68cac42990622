-- Delivery: events are handed to dispatchers, in order per aggregate.
--
-- Who hands out events (claim_outbox) holds the outbox's lock alone, who reports (report_outbox) shares
-- it: so a claim sees every aggregate as it is, and an aggregate is in one dispatcher's hands at a time.
-- Both are short. Publishers take no lock.
--
-- A pending event without lease and error has never been tried: its visible_at says only when to look at
-- it again. A claim that meets one behind an event of its aggregate that is leased, or waits for its next
-- try, moves its visible_at to that time: so a long line behind one failing event costs one look each,
-- and not one in every claim. The report that ends the waiting brings the next of the line back.

create or replace function {schema}.outbox_lock_key() returns bigint
language sql stable
as $$ select hashint8extended(0, '{schema}.outbox'::regclass::oid::bigint) $$;
comment on function {schema}.outbox_lock_key is 'Internal: the advisory lock of who hands events out.';

-- Up to `qty` events, at most `per_aggregate` of each aggregate, from its oldest pending one on. Those of
-- one aggregate come in order, side by side. The last row has no outbox_id: only the clock, and when to
-- claim again: when the next event is due, or at once where not all that is due was looked at.
create or replace function {schema}.claim_outbox(
    qty integer, per_aggregate integer default 100, lease_ms bigint default 60000
) returns table (
    outbox_id bigint, event_id text, type text, payload text, aggregate text, subject text,
    traceparent text, run_id bigint, delivery integer, attempts integer, last_error text,
    created_at timestamptz, visible_at timestamptz, now_at timestamptz, next_due timestamptz
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    at       timestamptz := {schema}.clock();
    rounds   constant integer := 2;
    wide     constant integer := greatest(qty, 1000);
    seen     bigint[];
    seen_of  text[];         -- the aggregate of each
    lines    text[];
    blocked  timestamptz[];  -- of each line: until when; null where it is free
    picked   bigint[];
    starts   bigint[];
    more     boolean := false;
begin
    -- Nearly always there is nothing: that takes no lock.
    if exists (select from {schema}.outbox o where o.status = 'PENDING' and o.visible_at <= at) then
        perform pg_advisory_xact_lock({schema}.outbox_lock_key());
        for round in 1 .. rounds loop
            select array_agg(d.outbox_id), array_agg(d.aggregate),
                   array_agg(distinct d.aggregate) filter (where d.aggregate <> '')
            into seen, seen_of, lines
            from (
                select o.outbox_id, o.aggregate::text from {schema}.outbox o
                where o.status = 'PENDING' and o.visible_at <= at
                order by o.visible_at limit wide
            ) d;
            -- Its first event waits, or one of them is in somebody's hands.
            blocked := array(
                select nullif(greatest(
                           at,
                           (select o.visible_at from {schema}.outbox o
                            where o.status = 'PENDING' and o.aggregate = l.aggregate
                            order by o.outbox_id limit 1),
                           (select max(o.visible_at) from {schema}.outbox o
                            where o.leased and o.aggregate = l.aggregate)), at)
                from unnest(lines) with ordinality as l (aggregate, place)
                order by l.place
            );
            select array_agg(p.outbox_id), array_agg(p.starts_with)
            into picked, starts
            from (
                select e.outbox_id, e.starts_with
                from (
                    select s.id as outbox_id, s.id as starts_with
                    from unnest(seen, seen_of) as s (id, aggregate)
                    where s.aggregate = ''
                    union all
                    select f.outbox_id, f.starts_with
                    from unnest(lines, blocked) as l (aggregate, blocked)
                    cross join lateral (
                        select o.outbox_id, first_value(o.outbox_id) over line as starts_with,
                               bool_and(o.visible_at <= at or (not o.leased and o.last_error is null))
                                   over line as takeable
                        from (
                            select o.* from {schema}.outbox o
                            where o.status = 'PENDING' and o.aggregate = l.aggregate
                            order by o.outbox_id limit per_aggregate
                        ) o
                        window line as (order by o.outbox_id rows unbounded preceding)
                    ) f
                    where l.blocked is null and f.takeable
                ) e
                order by e.starts_with, e.outbox_id
                limit qty
            ) p;
            -- What was seen and stands behind somebody else is looked at again when that one's time comes.
            if cardinality(array_remove(blocked, null)) > 0 then
                update {schema}.outbox b
                set visible_at = n.until
                from (
                    select s.id, blocked[array_position(lines, s.aggregate)] as until
                    from unnest(seen, seen_of) as s (id, aggregate)
                    where s.aggregate <> ''
                ) n
                where b.outbox_id = any(array[n.id]) and n.until is not null;
            end if;
            more := coalesce(cardinality(seen), 0) >= wide;
            exit when picked is not null or not more;
        end loop;

        return query
        with taken as (
            update {schema}.outbox o
            set leased = true, delivery = o.delivery + 1, attempts = o.attempts + 1,
                visible_at = at + {schema}.ms(lease_ms)
            from unnest(picked, starts) as p (id, starts_with)
            where o.outbox_id = any(array[p.id])
            returning o.*, p.starts_with
        )
        select t.outbox_id, t.event_id, t.type, t.payload, t.aggregate::text, t.subject, t.traceparent,
               t.run_id, t.delivery, t.attempts, t.last_error, t.created_at, t.visible_at,
               null::timestamptz, null::timestamptz
        from taken t order by t.starts_with, t.outbox_id;
    end if;
    return query
    select null::bigint, null::text, null::text, null::text, null::text, null::text, null::text,
           null::bigint, null::integer, null::integer, null::text, null::timestamptz, null::timestamptz,
           at, case when more then at
                    else (select o.visible_at from {schema}.outbox o
                          where o.status = 'PENDING' and o.visible_at > at
                          order by o.visible_at limit 1) end;
end
$$;
comment on function {schema}.claim_outbox is
    'Hands out events for delivery, leased: in order per aggregate, which nobody else gets meanwhile.';

-- kinds: published, retry (after delays_ms, with the error), park (with the error), release (as if it had
-- not been claimed). Returns done or lease_lost for each.
create or replace function {schema}.report_outbox(
    outbox_ids bigint[], deliveries integer[], kinds text[], errors text[] default null,
    delays_ms bigint[] default null
) returns text[]
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
declare
    now_at timestamptz;
    held   bigint[];
begin
    perform pg_advisory_xact_lock_shared({schema}.outbox_lock_key());
    -- Read under the lock: no claim that was before this report has seen a later time.
    now_at := {schema}.clock();
    held := array(
        select l.outbox_id
        from (
            select n.outbox_id, n.delivery from unnest(outbox_ids, deliveries) as n (outbox_id, delivery)
            order by n.outbox_id
        ) n
        cross join lateral (
            select o.outbox_id from {schema}.outbox o
            where o.outbox_id = n.outbox_id and o.delivery = n.delivery and o.leased
            for update
        ) l
    );
    update {schema}.outbox o
    set leased = false,
        status = case n.kind when 'published' then 'PUBLISHED' when 'park' then 'PARKED' else o.status end,
        published_at = case when n.kind = 'published' then now_at end,
        attempts = o.attempts - case when n.kind = 'release' then 1 else 0 end,
        last_error = case when n.kind in ('retry', 'park') then n.error
                          when n.kind = 'release' then o.last_error end,
        visible_at = case when n.kind = 'retry' then now_at + {schema}.ms(coalesce(n.delay_ms, 0))
                          else now_at end
    from unnest(outbox_ids, kinds, errors, delays_ms) as n (id, kind, error, delay_ms)
    where o.outbox_id = any(array[n.id]) and o.outbox_id = any(held);
    if {schema}.free_lines(held, now_at) or 'release' = any(kinds) then
        perform pg_notify('pawl_{schema_name}', '-2');
    end if;
    return array(
        select case when n.outbox_id = any(held) then 'done' else 'lease_lost' end
        from unnest(outbox_ids) with ordinality as n (outbox_id, place)
        order by n.place
    );
end
$$;
comment on function {schema}.report_outbox is
    'Reports the results of deliveries: published, retry, park or release. One outcome each.';

drop function if exists {schema}.advance_lines(bigint[], timestamptz);

-- Makes the first pending event of each of these events' aggregates due, if it only waited for others.
-- Returns whether a line can be claimed now: dispatchers that found it leased must be notified.
create or replace function {schema}.free_lines(outbox_ids bigint[], at timestamptz) returns boolean
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
declare
    firsts bigint[];
    later  boolean[];  -- of each: it is not due yet
begin
    select array_agg(f.outbox_id), array_agg(f.visible_at > free_lines.at)
    into firsts, later
    from (
        select distinct o.aggregate::text from unnest(outbox_ids) u
        cross join lateral (
            select o.aggregate from {schema}.outbox o where o.outbox_id = u offset 0
        ) o
        where o.aggregate <> ''
    ) l
    cross join lateral (
        select o.outbox_id, o.visible_at, o.leased, o.last_error from {schema}.outbox o
        where o.status = 'PENDING' and o.aggregate between l.aggregate and l.aggregate
        order by o.aggregate, o.outbox_id limit 1
    ) f
    where not f.leased and (f.visible_at <= free_lines.at or f.last_error is null);
    if true = any(later) then
        update {schema}.outbox b
        set visible_at = free_lines.at
        from unnest(firsts, later) as n (id, is_later)
        where b.outbox_id = any(array[n.id]) and n.is_later;
    end if;
    return firsts is not null;
end
$$;
comment on function {schema}.free_lines is 'Internal: lets the next event of each aggregate be delivered.';

-- One parked event, or with null all of them, as if they had never been tried. Returns how many.
create or replace function {schema}.retry_parked(outbox_id bigint default null) returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
    now_at  timestamptz := {schema}.clock();
    retried bigint;
begin
    perform pg_advisory_xact_lock({schema}.outbox_lock_key());
    update {schema}.outbox o
    set status = 'PENDING', attempts = 0, last_error = null, visible_at = now_at
    where o.status = 'PARKED'
      and (retry_parked.outbox_id is null or o.outbox_id = retry_parked.outbox_id);
    get diagnostics retried = row_count;
    if retried = 0 and retry_parked.outbox_id is not null then
        raise exception 'no parked event has the number %', retry_parked.outbox_id using errcode = 'PW019';
    end if;
    perform pg_notify('pawl_{schema_name}', '-2');
    return retried;
end
$$;
comment on function {schema}.retry_parked is
    'Lets parked events be tried again: one, or all; returns how many.';

create or replace function {schema}.list_outbox(
    wanted_status text default null, wanted_type text default null, wanted_aggregate text default null,
    wanted_run bigint default null, after_event bigint default 0, max_rows integer default 100
) returns table (
    outbox_id bigint, event_id text, type text, payload json, aggregate text, subject text,
    traceparent text, run_id bigint, status text, attempts integer, last_error text,
    created_at timestamptz, visible_at timestamptz, published_at timestamptz
)
language plpgsql stable
set plan_cache_mode = force_custom_plan  -- so that the values choose the index
as $$
#variable_conflict use_column
begin
    return query
    select o.outbox_id, o.event_id, o.type, o.payload::json, o.aggregate::text, o.subject, o.traceparent,
           o.run_id, o.status, o.attempts, o.last_error, o.created_at,
           case when o.status = 'PENDING' then o.visible_at end, o.published_at
    from {schema}.outbox o
    where o.outbox_id > after_event
      and (wanted_status is null or o.status = wanted_status)
      and (wanted_type is null or o.type = wanted_type)
      and (wanted_aggregate is null or o.aggregate = wanted_aggregate)
      and (wanted_run is null or o.run_id = wanted_run)
    order by o.outbox_id limit max_rows;
end
$$;
comment on function {schema}.list_outbox is 'Events of the outbox, oldest first.';

-- Looks at the hundred that have waited longest: what is tried again often may be older than these.
create or replace function {schema}.outbox_lag_ms() returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    return (
        select (extract(epoch from now_at - min(d.created_at)) * 1000)::bigint
        from (
            select o.created_at from {schema}.outbox o
            where o.status = 'PENDING' and o.visible_at <= now_at
            order by o.visible_at limit 100
        ) d
    );
end
$$;
comment on function {schema}.outbox_lag_ms is
    'The age of the oldest event that is due for delivery, in milliseconds; null where none is.';
