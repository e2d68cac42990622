-- Delivery: dispatchers claim events, in order per aggregate.
--
-- A claim (claim_outbox) locks the table outbox_turn exclusively, reports (report_outbox) lock it shared. So a claim
-- sees a consistent state of every aggregate, and one dispatcher at a time holds an aggregate. Both are short (lock
-- order: functions/README.md).
--
-- A pending event without lease and error has not been tried yet; its visible_at is only the time of the next check.
-- If a claim finds such an event behind an event of its aggregate that is leased or waits for a retry, it sets
-- visible_at to that time. So each event of a long line behind a failing event costs one check, and not one per claim.
-- The report that ends the wait makes the next event of the line due again.
--
-- A claim reads a number of rows that depends only on `qty`, not on the number of events, aggregates or published
-- events: due events come from outbox_due in index order, lines from outbox_pending in index order. `between x and x`
-- with that order, and with sorts disabled, leaves the planner no other index: with `= x` it walks the primary key over
-- published events. (Sorts that are needed anyway then have a cost that would start the JIT compiler, so that is
-- disabled too.) Index entries of delivered events stay in outbox_due until vacuum removes them, exactly where a claim
-- begins to read. So a caller that claims repeatedly passes the position from which it found due events (from_at,
-- from_id). A claim that finds none there restarts at the beginning. Events that were committed late, before the
-- position, are found by such a claim or by one without a position.

-- Due events in the order of outbox_due, after a position. Aligned arrays.
create or replace function {schema}.due_outbox(
    from_at timestamptz, from_id bigint, at timestamptz, max_rows integer,
    out ids bigint[], out aggregates text[], out first_at timestamptz
)
language plpgsql
as $$
begin
    select array_agg(d.outbox_id), array_agg(d.aggregate), min(d.visible_at)
    into ids, aggregates, first_at
    from (
        select o.outbox_id, o.aggregate::text, o.visible_at from {schema}.outbox o
        where o.status = 'PENDING' and (o.visible_at, o.outbox_id) >= (from_at, from_id)
          and o.visible_at <= due_outbox.at
        order by o.visible_at, o.outbox_id limit max_rows
    ) d;
end
$$;
comment on function {schema}.due_outbox is 'Internal: the events that are due, after a position.';

-- Up to `qty` of these due events and of their lines, at most `per_aggregate` of each line. `lines` has the line of
-- each event. Due events of lines that are leased or wait for a retry are postponed.
create or replace function {schema}.pick_outbox(
    due_ids bigint[], due_aggregates text[], qty integer, per_aggregate integer, at timestamptz,
    out ids bigint[], out lines bigint[]
)
language plpgsql
as $$
declare
    firsts     bigint[];       -- first event of each line, in the order in which they are due
    aggregates text[];         -- '' for an event without an aggregate, which is a line by itself
    blocked    timestamptz[];  -- end of the blocking; null if the line is free
begin
    select array_agg(l.id), array_agg(l.aggregate)
    into firsts, aggregates
    from (
        select min(d.id) as id, d.aggregate
        from unnest(due_ids, due_aggregates) with ordinality as d (id, aggregate, place)
        group by d.aggregate, case when d.aggregate = '' then d.id end
        order by min(d.place)
    ) l;
    -- Its first event waits, or one of its events is leased.
    blocked := array(
        select case when l.aggregate <> '' then nullif(greatest(
                   pick_outbox.at,
                   (select o.visible_at from {schema}.outbox o
                    where o.status = 'PENDING' and o.aggregate between l.aggregate and l.aggregate
                    order by o.aggregate, o.outbox_id limit 1),
                   (select max(o.visible_at) from {schema}.outbox o
                    where o.leased and o.aggregate = l.aggregate)), pick_outbox.at) end
        from unnest(aggregates) with ordinality as l (aggregate, place)
        order by l.place
    );
    select array_agg(p.outbox_id), array_agg(p.place)
    into ids, lines
    from (
        select e.outbox_id, l.place
        from unnest(firsts, aggregates, blocked) with ordinality as l (first, aggregate, blocked, place)
        cross join lateral (
            select l.first as outbox_id, true as takeable where l.aggregate = ''
            union all
            select o.outbox_id,
                   bool_and(o.visible_at <= pick_outbox.at or (not o.leased and o.last_error is null)) over line
            from (
                select o.outbox_id, o.aggregate, o.visible_at, o.leased, o.last_error from {schema}.outbox o
                where o.status = 'PENDING' and o.aggregate between l.aggregate and l.aggregate
                order by o.aggregate, o.outbox_id limit per_aggregate
            ) o
            where l.aggregate <> ''
            window line as (order by o.aggregate, o.outbox_id rows unbounded preceding)
        ) e
        where l.blocked is null and e.takeable
        limit qty
    ) p;
    if cardinality(array_remove(blocked, null)) > 0 then
        update {schema}.outbox b
        set visible_at = n.until
        from (
            select d.id, blocked[array_position(aggregates, d.aggregate)] as until
            from unnest(due_ids, due_aggregates) as d (id, aggregate)
            where d.aggregate <> ''
        ) n
        where b.outbox_id = any(array[n.id]) and n.until is not null;
    end if;
end
$$;
comment on function {schema}.pick_outbox is 'Internal: the events that a claim takes.';

-- claim_outbox after a position. The last row has no outbox_id: it has the current time, the time of the next claim
-- (now if there may be more events), and the position for the next claim.
create or replace function {schema}.claim_outbox_from(
    qty integer, per_aggregate integer, lease_ms bigint, from_at timestamptz, from_id bigint
) returns table (
    outbox_id bigint, event_id text, type text, payload text, aggregate text, subject text,
    traceparent text, run_id bigint, delivery integer, attempts integer, last_error text,
    created_at timestamptz, visible_at timestamptz, now_at timestamptz, next_due timestamptz,
    next_from_at timestamptz, next_from_id bigint
)
language plpgsql
as $$
#variable_conflict use_column
declare
    at       timestamptz := {schema}.clock();
    start_at timestamptz := coalesce(claim_outbox_from.from_at, '-infinity');
    start_id bigint := coalesce(claim_outbox_from.from_id, 0);
    wide     integer := qty;
    rounds   integer := 0;
    seen     record;
    picked   record;
    more     boolean := false;
begin
    if (qty between 1 and {rule:max_batch} and per_aggregate between 1 and {rule:max_batch}
        and lease_ms between 0 and {schema}.longest_ms()) is not true then
        perform {schema}.check_given('qty, per_aggregate and lease_ms', num_nulls(qty, per_aggregate, lease_ms) > 0);
        perform {schema}.check_range('qty', qty, 1, {rule:max_batch});
        perform {schema}.check_range('per_aggregate', per_aggregate, 1, {rule:max_batch});
        perform {schema}.check_range('lease_ms', lease_ms, 0, {schema}.longest_ms());
    end if;
    -- The usual case is that no event is due: that takes no lock.
    select d.* into seen from {schema}.due_outbox(start_at, start_id, at, 1) d;
    if seen.ids is null and start_at > '-infinity' then
        start_at := '-infinity';
        select d.* into seen from {schema}.due_outbox(start_at, start_id, at, 1) d;
    end if;
    if seen.ids is not null then
        lock table {schema}.outbox_turn in exclusive mode;
        at := {schema}.clock();
        loop
            select d.* into seen from {schema}.due_outbox(start_at, start_id, at, wide) d;
            select p.* into picked
            from {schema}.pick_outbox(seen.ids, seen.aggregates, qty, per_aggregate, at) p;
            more := picked.ids is not null;
            exit when more;
            if cardinality(seen.ids) >= wide then  -- all of them were postponed
                more := rounds = {rule:outbox_rounds} - 1;
                exit when more;
                rounds := rounds + 1;
                wide := greatest(qty, {rule:wide_outbox});
            else
                exit when start_at = '-infinity';
                start_at := '-infinity';
            end if;
        end loop;
        return query
        with taken as (
            update {schema}.outbox o
            set leased = true, delivery = o.delivery + 1, attempts = o.attempts + 1,
                visible_at = at + {schema}.ms(lease_ms)
            from unnest(picked.ids, picked.lines) as p (id, line)
            where o.outbox_id = any(array[p.id])
            returning o.*, p.line
        )
        select t.outbox_id, t.event_id, t.type, t.payload, t.aggregate::text, t.subject, t.traceparent,
               t.run_id, t.delivery, t.attempts, t.last_error, t.created_at, t.visible_at,
               null::timestamptz, null::timestamptz, null::timestamptz, null::bigint
        from taken t order by t.line, t.outbox_id;
    end if;
    return query
    select null::bigint, null::text, null::text, null::text, null::text, null::text, null::text,
           null::bigint, null::integer, null::integer, null::text, null::timestamptz, null::timestamptz,
           at, case when more then at
                    else (select o.visible_at from {schema}.outbox o
                          where o.status = 'PENDING' and o.visible_at > at
                          order by o.visible_at, o.outbox_id limit 1) end,
           coalesce(seen.first_at, at), coalesce(seen.ids[1], 0);
end
$$;
comment on function {schema}.claim_outbox_from is
    'Like claim_outbox, for callers that claim repeatedly: continues at the position that the last claim returned.';

-- Up to `qty` events, at most `per_aggregate` of each aggregate, starting with its oldest pending one. Events of one
-- aggregate are adjacent and in order. The last row has no outbox_id: it has only the current time and the time of the
-- next claim, which is now if there may be more events, or the time at which the next event is due.
create or replace function {schema}.claim_outbox(
    qty integer, per_aggregate integer default 100, lease_ms bigint default {rule:default_outbox_lease_ms}
) returns table (
    outbox_id bigint, event_id text, type text, payload text, aggregate text, subject text,
    traceparent text, run_id bigint, delivery integer, attempts integer, last_error text,
    created_at timestamptz, visible_at timestamptz, now_at timestamptz, next_due timestamptz
)
language sql
as $$
    select c.outbox_id, c.event_id, c.type, c.payload, c.aggregate, c.subject, c.traceparent, c.run_id,
           c.delivery, c.attempts, c.last_error, c.created_at, c.visible_at, c.now_at, c.next_due
    from {schema}.claim_outbox_from(qty, per_aggregate, lease_ms, null, null) c
$$;
comment on function {schema}.claim_outbox is
    'Claims and leases events for delivery, in order per aggregate. One dispatcher at a time holds an aggregate.';

-- kinds: published, retry (after delays_ms, with the error), park (with the error), release (as if it had not been
-- claimed). Returns done, lease_lost or invalid for each.
create or replace function {schema}.report_outbox(
    outbox_ids bigint[], deliveries integer[], kinds text[], errors text[] default null,
    delays_ms bigint[] default null
) returns text[]
language plpgsql
as $$
declare
    now_at  timestamptz;
    held    bigint[];  -- indexes of the reports that were written
    known   constant text[] := array['published', 'retry', 'park', 'release'];
    size    constant integer := coalesce(cardinality(outbox_ids), 0);
    invalid boolean[] := {schema}.invalid_times(size, delays_ms, 0, true);
    freed   text[];  -- their aggregates
begin
    if (kinds <@ known and cardinality(kinds) >= size) is not true then
        invalid := {schema}.either_invalid(invalid, array(
            select (kinds[i] = any(known)) is not true from generate_series(1, size) i order by i));
    end if;
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    lock table {schema}.outbox_turn in row share mode;
    -- Read under the lock, so that no claim before this report has used a later time.
    now_at := {schema}.clock();
    with written as (
        update {schema}.outbox o
        set leased = false,
            status = case n.kind when 'published' then 'PUBLISHED' when 'park' then 'PARKED' else o.status end,
            published_at = case when n.kind = 'published' then now_at end,
            attempts = o.attempts - case when n.kind = 'release' then 1 else 0 end,
            last_error = case when n.kind in ('retry', 'park') then n.error
                              when n.kind = 'release' then o.last_error end,
            visible_at = case when n.kind = 'retry' then now_at + {schema}.ms(coalesce(n.delay_ms, 0))
                              else now_at end
        from (
            -- In the order of their ids, so that overlapping batches of reports do not deadlock.
            select r.* from unnest(outbox_ids, deliveries, kinds, errors, delays_ms)
                with ordinality as r (id, delivery, kind, error, delay_ms, place)
            order by r.id
        ) n
        where o.outbox_id = any(array[n.id]) and o.delivery = n.delivery and o.leased
        returning n.place, o.aggregate
    )
    select array_agg(w.place), array_agg(distinct w.aggregate::text) filter (where w.aggregate <> '')
    into held, freed
    from written w;
    if {schema}.free_lines(freed, now_at) or 'release' = any(kinds) then
        perform pg_notify('pawl_{schema_name}', '-2');
    end if;
    return {schema}.mark_invalid(array(
        select case when place = any(held) then 'done' else 'lease_lost' end
        from generate_series(1, size) place
        order by place
    ), invalid);
end
$$;
comment on function {schema}.report_outbox is
    'Reports the results of deliveries: published, retry, park or release. Returns one outcome per item.';


-- Makes the first pending event of each aggregate due, if it was only postponed. Returns whether a line can be claimed
-- now: dispatchers that found it leased must be notified.
create or replace function {schema}.free_lines(aggregates text[], at timestamptz) returns boolean
language plpgsql
as $$
declare
    firsts bigint[];
    later  boolean[];  -- whether it is not due yet
begin
    select array_agg(f.outbox_id), array_agg(f.visible_at > free_lines.at)
    into firsts, later
    from unnest(aggregates) as l (aggregate)
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
comment on function {schema}.free_lines is 'Internal: makes the next event of each aggregate due.';

-- Null retries all parked events. Attempts are reset, as if the event had not been tried.
create or replace function {schema}.retry_parked(outbox_id bigint default null) returns bigint
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    retried bigint;
begin
    lock table {schema}.outbox_turn in exclusive mode;
    update {schema}.outbox o
    set status = 'PENDING', attempts = 0, last_error = null, visible_at = now_at
    where o.status = 'PARKED'
      and (retry_parked.outbox_id is null or o.outbox_id = retry_parked.outbox_id);
    get diagnostics retried = row_count;
    if retried = 0 and retry_parked.outbox_id is not null then
        raise exception '{text:event_not_parked}', retry_parked.outbox_id using errcode = 'PW019';
    end if;
    perform pg_notify('pawl_{schema_name}', '-2');
    return retried;
end
$$;
comment on function {schema}.retry_parked is 'Retries one parked event, or all of them; returns how many.';

-- The ids of a page of events. Each case reads one index in its order, so the cost depends on the page and not on the
-- number of events; combined filters by type and aggregate read the events of the aggregate.
create or replace function {schema}.outbox_page(
    wanted_status text, wanted_type text, wanted_aggregate text, wanted_run bigint, after_event bigint,
    max_rows integer
) returns bigint[]
language plpgsql stable
as $$
begin
    if wanted_run is not null then
        return array(
            select r.outbox_id
            from (select o.* from {schema}.outbox o where o.run_id = wanted_run offset 0) r
            where r.outbox_id > after_event
              and (wanted_status is null or r.status = wanted_status)
              and (wanted_type is null or r.type = wanted_type)
              and (wanted_aggregate is null or r.aggregate = wanted_aggregate)
            order by r.outbox_id limit max_rows
        );
    elsif wanted_aggregate is not null then
        return array(
            (select o.outbox_id from {schema}.outbox o
             where o.status = 'PENDING' and coalesce(wanted_status, 'PENDING') = 'PENDING'
               and (o.aggregate, o.outbox_id) > (wanted_aggregate, after_event) and o.aggregate <= wanted_aggregate
               and (wanted_type is null or o.type = wanted_type)
             order by o.aggregate, o.outbox_id limit max_rows)
            union all
            (select o.outbox_id from {schema}.outbox o
             where o.status <> 'PENDING' and o.status = 'PUBLISHED'
               and coalesce(wanted_status, 'PUBLISHED') = 'PUBLISHED'
               and (o.aggregate, o.outbox_id) > (wanted_aggregate, after_event) and o.aggregate <= wanted_aggregate
               and (wanted_type is null or o.type = wanted_type)
             order by o.aggregate, o.outbox_id limit max_rows)
            union all
            (select o.outbox_id from {schema}.outbox o
             where o.status <> 'PENDING' and o.status = 'PARKED'
               and coalesce(wanted_status, 'PARKED') = 'PARKED'
               and (o.aggregate, o.outbox_id) > (wanted_aggregate, after_event) and o.aggregate <= wanted_aggregate
               and (wanted_type is null or o.type = wanted_type)
             order by o.aggregate, o.outbox_id limit max_rows)
            order by 1 limit max_rows
        );
    elsif wanted_type is not null then
        return array(
            select p.outbox_id
            from unnest(case when wanted_status is null then array['PENDING', 'PUBLISHED', 'PARKED']
                             else array[wanted_status] end) s (status)
            cross join lateral (
                select o.outbox_id from {schema}.outbox o
                where o.status = s.status and (o.type, o.outbox_id) > (wanted_type, after_event)
                  and o.type <= wanted_type
                order by o.type, o.outbox_id limit max_rows
            ) p
            order by p.outbox_id limit max_rows
        );
    end if;
    return array(
        select o.outbox_id from {schema}.outbox o
        where o.outbox_id > after_event and (wanted_status is null or o.status = wanted_status)
        order by o.outbox_id limit max_rows
    );
end
$$;
comment on function {schema}.outbox_page is 'Internal: the ids of a page of events.';

create or replace function {schema}.list_outbox(
    wanted_status text default null, wanted_type text default null, wanted_aggregate text default null,
    wanted_run bigint default null, after_event bigint default 0, max_rows integer default {rule:default_page_rows}
) returns table (
    outbox_id bigint, event_id text, type text, payload json, aggregate text, subject text,
    traceparent text, run_id bigint, status text, attempts integer, last_error text,
    created_at timestamptz, visible_at timestamptz, published_at timestamptz
)
language sql stable
as $$
    select o.outbox_id, o.event_id, o.type, o.payload::json, o.aggregate::text, o.subject, o.traceparent,
           o.run_id, o.status, o.attempts, o.last_error, o.created_at,
           case when o.status = 'PENDING' then o.visible_at end, o.published_at
    from unnest({schema}.outbox_page(wanted_status, wanted_type, wanted_aggregate, wanted_run, after_event,
                                     {schema}.page_size(max_rows))) with ordinality as p (outbox_id, place)
    cross join lateral (select o.* from {schema}.outbox o where o.outbox_id = p.outbox_id offset 0) o
    order by p.place
$$;
comment on function {schema}.list_outbox is 'Lists events of the outbox, oldest first.';

-- Reads the hundred events that have been due longest. An event that is retried often may be older.
create or replace function {schema}.outbox_lag_ms() returns bigint
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    return (
        select (extract(epoch from now_at - min(d.created_at)) * 1000)::bigint
        from (
            select o.created_at from {schema}.outbox o
            where o.status = 'PENDING' and o.visible_at <= now_at
            order by o.visible_at limit {rule:oldest_events}
        ) d
    );
end
$$;
comment on function {schema}.outbox_lag_ms is
    'The age of the oldest event that is due for delivery, in milliseconds; null if none is due.';
