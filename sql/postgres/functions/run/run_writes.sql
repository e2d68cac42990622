-- Writes of the holder of a run: steps and suspensions (ends: run/run_ends.sql). As in queue/settle.sql: aligned
-- arrays, no waiting for locks, one outcome per item. Every write locks the message row first: that is the fence.
-- Events, failures and signals are only processed if an item has them.
--
-- A plan may be created when the tables are nearly empty, and it must not read a whole table for a batch later:
-- `offset 0` keeps a lookup at one per item, and so does `= any(array[...])` if a row is joined to its item. Elements
-- of array variables may be accessed by index (`array[i]`) as long as the plan is a generic one: that costs less than
-- unnest(), which copies the elements of each array.

-- Locks the messages of these leases. tids and workers are aligned with the leases; a null tid means that the lease
-- does not hold, or that another session has locked the row. Runs in ascending order without duplicates are cheapest:
-- then one index scan is enough.
create or replace function {schema}.lock_runs(
    run_ids bigint[], deliveries integer[], out tids tid[], out workers bigint[], out complete boolean
)
language plpgsql
as $$
declare
    held_ids        bigint[];
    held_deliveries integer[];
begin
    -- With a plain condition on the state, the planner might choose the index messages_due.
    select array_agg(m.tid), array_agg(m.worker_id), array_agg(m.message_id), array_agg(m.delivery)
    into tids, workers, held_ids, held_deliveries
    from (
        select m.ctid as tid, m.worker_id, m.message_id, m.delivery from {schema}.messages m
        where m.message_id = any(run_ids) and m.state || '' = 'leased'
          and m.run_id is null  -- a task's message does not belong to a run
        order by m.message_id for update skip locked
    ) m;
    complete := held_ids = run_ids and held_deliveries = deliveries;
    if complete then
        return;
    end if;
    select array_agg(m.tid), array_agg(m.worker_id), count(m.tid) = count(*)
    into tids, workers, complete
    from unnest(run_ids, deliveries) as l (run_id, delivery)
    left join lateral (
        select m.ctid as tid, m.worker_id from {schema}.messages m
        where m.message_id = l.run_id and m.delivery = l.delivery and m.state || '' = 'leased'
          and m.run_id is null
        for update skip locked
    ) m on true;
end
$$;
comment on function {schema}.lock_runs is 'Internal: locks the messages of the leases of these runs.';

-- Like settle_outcomes: why some could not be locked. The message of a task is leased, but not by the holder of a run.
create or replace function {schema}.run_outcomes(
    run_ids bigint[], deliveries integer[], tids tid[], repeated boolean
) returns text[]
language sql
as $$
    select array_agg(
        case when o.outcome = 'busy' and exists (
                 select from {schema}.messages m where m.message_id = o.run_id and m.run_id is not null offset 0
             ) then 'lease_lost' else o.outcome end order by o.place
    )
    from unnest(
        run_ids,
        (select {schema}.settle_outcomes(
             run_ids, deliveries, array_agg(l.run_id) filter (where l.tid is not null),
             array_agg(l.delivery) filter (where l.tid is not null), repeated)
         from unnest(run_ids, deliveries, tids) as l (run_id, delivery, tid))
    ) with ordinality as o (run_id, outcome, place)
$$;
comment on function {schema}.run_outcomes is 'Internal: like settle_outcomes, for runs.';

-- Checkpoints. A step that has its result keeps it; RUNNING only marks a step without a result. Nearly always the steps
-- have no row yet: then they are inserted without a lookup, which would cost half as much again, and the primary key
-- detects the others. Steps that may have a row, because they are a second attempt or took long enough to be marked as
-- RUNNING, are not inserted in this way.
--
-- No other session writes steps of a run whose message we have locked, so for the others a lookup shows whether a
-- row exists: that costs half of what `on conflict` costs.
create or replace function {schema}.record_steps(
    run_ids    bigint[],
    deliveries integer[],
    step_ids   text[],
    positions  integer[],
    statuses   text[],
    attempts   integer[],
    inputs     text[] default null,
    outputs    text[] default null,
    errors     text[] default null,
    wake_ats   timestamptz[] default null,
    elapsed_us bigint[] default null,
    repeated   boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    held    record;
    workers bigint[];
    added   integer;
    size    constant integer := coalesce(cardinality(run_ids), 0);
    invalid boolean[] := {schema}.either_invalid(
        {schema}.invalid_steps(size, array['SUCCESS', 'ERROR', 'RUNNING'], false, step_ids, positions, statuses,
                               attempts, wake_ats, elapsed_us),
        {schema}.invalid_json(size, inputs, outputs, errors));
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    held := {schema}.lock_runs(run_ids, deliveries);
    if held.complete and 1 = all(attempts) and ({rule:short_step_us} > all(elapsed_us)) is not false then
        workers := held.workers;
        begin
            insert into {schema}.steps
                (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at,
                 wake_at, input, output, error)
            select run_ids[i], step_ids[i], positions[i], statuses[i], 1, deliveries[i], workers[i],
                   now_at - coalesce(elapsed_us[i], 0) * interval '1 microsecond',
                   case when statuses[i] <> 'RUNNING' then now_at end, wake_ats[i], inputs[i], outputs[i],
                   errors[i]
            from generate_series(1, cardinality(run_ids)) i;
            return array_fill('done'::text, array[size]);
        exception when unique_violation then
            null;  -- one of them has a row
        end;
    end if;
    insert into {schema}.steps
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, wake_at,
         input, output, error)
    select distinct on (n.run_id, n.step_id)  -- of a step that is given twice, the first counts
           n.run_id, n.step_id, n.position, n.status, n.attempt, n.delivery, n.worker_id,
           now_at - coalesce(n.elapsed_us, 0) * interval '1 microsecond',
           case when n.status <> 'RUNNING' then now_at end, n.wake_at, n.input, n.output, n.error
    from unnest(run_ids, deliveries, held.tids, held.workers, step_ids, positions, statuses, attempts,
                inputs, outputs, errors, wake_ats, elapsed_us) with ordinality
        as n (run_id, delivery, tid, worker_id, step_id, position, status, attempt,
              input, output, error, wake_at, elapsed_us, place)
    where n.tid is not null
      and not exists (
          select from {schema}.steps s where s.run_id = n.run_id and s.step_id = n.step_id offset 0
      )
    order by n.run_id, n.step_id, n.place;
    get diagnostics added = row_count;
    if added < cardinality(run_ids) then
        update {schema}.steps s
        set position = n.position, status = n.status, attempt = n.attempt, delivery = n.delivery,
            worker_id = n.worker_id,
            -- A sleep began when the run began to wait.
            started_at = case when s.wake_at is not null then s.started_at
                              else now_at - coalesce(n.elapsed_us, 0) * interval '1 microsecond' end,
            completed_at = case when n.status <> 'RUNNING' then now_at end, wake_at = n.wake_at,
            pause_message = null, pause_condition = null, input = coalesce(n.input, s.input),
            output = n.output, error = n.error
        from unnest(run_ids, deliveries, held.tids, held.workers, step_ids, positions, statuses, attempts,
                    inputs, outputs, errors, wake_ats, elapsed_us)
            as n (run_id, delivery, tid, worker_id, step_id, position, status, attempt,
                  input, output, error, wake_at, elapsed_us)
        where n.tid is not null and s.run_id = any(array[n.run_id]) and s.step_id = n.step_id
          and (s.status in ('PENDING', 'PAUSED') or (s.status = 'RUNNING' and n.status <> 'RUNNING'));
    end if;
    if held.complete then
        return array_fill('done'::text, array[size]);
    end if;
    -- Repeated, and the run has continued since: the step shows whether this delivery wrote it.
    return {schema}.mark_invalid(array(
        select case when n.outcome <> 'done' or n.tid is not null or exists (
                        select from {schema}.steps s
                        where s.run_id = n.run_id and s.step_id = n.step_id and s.delivery = n.delivery
                          and s.status = n.status
                        offset 0
                    ) then n.outcome
                    else 'lease_lost' end
        from unnest(run_ids, deliveries, step_ids, statuses, held.tids,
                    {schema}.run_outcomes(run_ids, deliveries, held.tids, repeated)) with ordinality
            as n (run_id, delivery, step_id, status, tid, outcome, place)
        order by n.place
    ), invalid);
end
$$;
comment on function {schema}.record_steps is
    'Records steps of leased runs: SUCCESS, ERROR, or RUNNING for a step that takes long. Returns one outcome per item.';

-- One checkpoint, like record_steps(), but with fence and step in one statement and without arrays. If the step already
-- has a row, or the fence does not hold, it calls record_steps().
create or replace function {schema}.record_step(
    run_id        bigint,
    delivery      integer,
    step_id       text,
    step_position integer,  -- `position` is a keyword of SQL
    status        text,
    attempt       integer,
    input         text default null,
    output        text default null,
    error         text default null,
    wake_at       timestamptz default null,
    elapsed_us    bigint default null,
    repeated      boolean default false
) returns text
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at   timestamptz := {schema}.clock();
    began_at timestamptz;
    ended_at timestamptz;
    parsed   json;
begin
    -- Like invalid_steps(), but in short expressions, because they are prepared again in each transaction.
    if (status in ('SUCCESS', 'ERROR', 'RUNNING') and step_position >= 0 and attempt >= 0
        and octet_length(step_id) between 1 and {rule:max_recorded_id_bytes} and coalesce(elapsed_us, 0) >= 0) is not true then
        return 'invalid';
    end if;
    begin
        began_at := now_at - coalesce(elapsed_us, 0) * interval '1 microsecond';
        parsed := output::json;
        if octet_length(output) > 4000 or num_nonnulls(input, error, wake_at) > 0 then
            perform {schema}.check_step(input, output, error, wake_at);
        end if;
    exception when others then
        return 'invalid';
    end;
    ended_at := case when status <> 'RUNNING' then now_at end;
    insert into {schema}.steps
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, wake_at, input,
         output, error)
    select run_id, step_id, step_position, status, attempt, delivery, m.worker_id, began_at, ended_at, wake_at, input,
           output, error
    from (
        select m.worker_id from {schema}.messages m
        where m.message_id = run_id and m.delivery = record_step.delivery and m.state || '' = 'leased'
          and m.run_id is null
        for update skip locked
    ) m
    on conflict do nothing;
    if found then
        return 'done';
    end if;
    return ({schema}.record_steps(
        array[run_id], array[delivery], array[step_id], array[step_position], array[status], array[attempt],
        array[input], array[output], array[error], array[wake_at], array[elapsed_us], repeated))[1];
end
$$;
comment on function {schema}.record_step(
    bigint, integer, text, integer, text, integer, text, text, text, timestamptz, bigint, boolean
) is 'Records one step of a leased run: SUCCESS, ERROR, or RUNNING for a step that takes long. Returns the outcome.';

-- Suspends runs: a retry, a pause, a sleep. They are visible at `untils` or after `delays_ms`; a pause ends at the
-- run's timeout at the latest. A run whose step already has its result (see resume) does not wait. The run stays
-- RUNNING or becomes PAUSED, its step PENDING or PAUSED; any other status gets the outcome `invalid`.
create or replace function {schema}.suspend_runs(
    run_ids           bigint[],
    deliveries        integer[],
    statuses          text[],
    delays_ms         bigint[],
    untils            timestamptz[] default null,
    attempts          integer[] default null,
    reasons           text[] default null,
    step_ids          text[] default null,
    positions         integer[] default null,
    step_statuses     text[] default null,
    step_attempts     integer[] default null,
    inputs            text[] default null,
    errors            text[] default null,
    pause_messages    text[] default null,
    pause_conditions  text[] default null,
    wake_ats          timestamptz[] default null,
    wake_after_delays boolean[] default null,
    elapsed_us        bigint[] default null,
    event_kinds       text[] default null,
    event_data        text[] default null,
    repeated          boolean default false
) returns text[]
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    held     record;
    ends     timestamptz[];
    visible  timestamptz[];
    payloads text[];
    resumed  boolean[];
    publish  boolean[];  -- whether the workflow publishes this pause
    size     constant integer := coalesce(cardinality(run_ids), 0);
    invalid  boolean[] := {schema}.invalid_suspensions(
        size, statuses, delays_ms, untils, attempts, step_ids, positions, step_statuses, step_attempts, inputs, errors,
        wake_ats, elapsed_us, event_data);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
        delays_ms := array(
            select case when not u.invalid then u.delay_ms end
            from unnest(delays_ms, invalid) with ordinality as u (delay_ms, invalid, place) order by u.place);
        untils := array(
            select case when not u.invalid then u.until end
            from unnest(untils, invalid) with ordinality as u (until, invalid, place) order by u.place);
    end if;
    held := {schema}.lock_runs(run_ids, deliveries);
    select array_agg(n.ends), array_agg(greatest(least(n.ends, n.deadline), now_at)), array_agg(n.publish)
    into ends, visible, publish
    from (
        select coalesce(n.until, now_at + {schema}.ms(coalesce(n.delay_ms, 0))) as ends, d.deadline,
               d.publish
        from unnest(run_ids, statuses, delays_ms, untils) with ordinality
            as n (run_id, status, delay_ms, until, place)
        left join lateral (
            select r.started_at + {schema}.ms(w.run_timeout_ms) as deadline, w.publish = 'ends' as publish
            from {schema}.runs r join {schema}.workflows w using (workflow_id)
            where r.run_id = n.run_id and n.status = 'PAUSED'
            offset 0
        ) d on true
        order by n.place
    ) n;
    payloads := {schema}.take_signals(
        run_ids, step_ids, held.tids, statuses, wake_ats, wake_after_delays
    );
    if true = any(publish) then
        publish := {schema}.new_pauses(
            publish, run_ids, step_ids, held.tids, reasons, wake_ats, wake_after_delays
        );
    end if;

    insert into {schema}.steps as s
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, wake_at,
         pause_message, pause_condition, input, output, error)
    select distinct on (n.run_id, n.step_id)  -- of a step that is given twice, the first counts
           n.run_id, n.step_id, n.position, case when n.payload is null then n.step_status else 'SUCCESS' end,
           n.step_attempt, n.delivery, n.worker_id,
           now_at - coalesce(n.elapsed_us, 0) * interval '1 microsecond',
           case when n.payload is not null then now_at end,
           case when n.wake_after_delay then n.ends else n.wake_at end, n.pause_message, n.pause_condition,
           n.input, n.payload, case when n.payload is null then n.error end
    from unnest(run_ids, deliveries, held.tids, held.workers, step_ids, positions, step_statuses,
                step_attempts, inputs, errors, pause_messages, pause_conditions, wake_ats,
                wake_after_delays, elapsed_us, ends, payloads) with ordinality
        as n (run_id, delivery, tid, worker_id, step_id, position, step_status,
              step_attempt, input, error, pause_message, pause_condition, wake_at,
              wake_after_delay, elapsed_us, ends, payload, place)
    where n.tid is not null and n.step_id is not null
    order by n.run_id, n.step_id, n.place
    on conflict (run_id, step_id) do update
    set position = excluded.position, status = excluded.status, attempt = excluded.attempt,
        delivery = excluded.delivery, worker_id = excluded.worker_id,
        started_at = case when s.wake_at is null then excluded.started_at else s.started_at end,
        completed_at = excluded.completed_at, wake_at = excluded.wake_at,
        pause_message = excluded.pause_message, pause_condition = excluded.pause_condition,
        input = coalesce(excluded.input, s.input), output = excluded.output, error = excluded.error
    where s.status in ('PENDING', 'RUNNING', 'PAUSED');

    -- Resumed by a signal, or while its body was executed again: it must not wait for an answer that has arrived.
    resumed := array(
        select exists (
            select from {schema}.steps s
            where s.run_id = n.run_id and s.step_id = n.step_id
              and s.status in ('SUCCESS', 'ERROR', 'SKIPPED')
            offset 0
        )
        from unnest(run_ids, step_ids) with ordinality as n (run_id, step_id, place)
        order by n.place
    );
    update {schema}.messages m
    set state = case when n.resumed or n.visible <= now_at then 'ready' else 'waiting' end,
        visible_at = case when n.resumed then now_at else n.visible end,
        strikes = 0, worker_id = null,
        attempts = case when n.resumed then 0 else coalesce(n.attempts, 0) end,  -- an answer is progress
        last_error = coalesce(nullif(n.reason, ''), m.last_error)
    from unnest(held.tids, visible, resumed, suspend_runs.attempts, reasons)
        as n (tid, visible, resumed, attempts, reason)
    where m.ctid = n.tid;
    update {schema}.runs r
    set status = case when n.resumed then 'RUNNING' else n.status end, updated_at = now_at,
        paused_at = case when n.status = 'PAUSED' and not n.resumed then now_at end,
        worker_id = coalesce(n.worker_id, r.worker_id)
    from unnest(run_ids, held.tids, held.workers, statuses, resumed)
        as n (run_id, tid, worker_id, status, resumed)
    where n.tid is not null and r.run_id = any(array[n.run_id]);

    if event_kinds is not null then
        perform {schema}.add_events(
            run_ids, deliveries, held.tids, held.workers, event_kinds, event_data, now_at
        );
    end if;
    if true = any(resumed) then
        perform pg_notify('pawl_{schema_name}', w.workflow_id::text)
        from (
            select distinct r.workflow_id from {schema}.runs r
            where r.run_id = any(array(
                select n.run_id from unnest(run_ids, held.tids, resumed) as n (run_id, tid, resumed)
                where n.resumed and n.tid is not null
            ))
        ) w;
    end if;
    if true = any(publish) then
        perform {schema}.publish_pauses(
            array_agg(n.run_id), array_agg(coalesce(n.pause_message, n.reason)), now_at)
        from unnest(run_ids, publish, resumed, pause_messages, reasons)
            as n (run_id, publish, resumed, pause_message, reason)
        where n.publish and not n.resumed
        having count(*) > 0;
    end if;
    if held.complete then
        return array_fill('done'::text, array[size]);
    end if;
    return {schema}.mark_invalid({schema}.run_outcomes(run_ids, deliveries, held.tids, repeated), invalid);
end
$$;
comment on function {schema}.suspend_runs is
    'Suspends leased runs at a step: a retry, a pause or a sleep. Returns one outcome per item.';

-- Removes and returns the signals that were kept for steps that pause now, aligned with the runs. A step that waits for
-- another run takes none: its result comes from that run.
create or replace function {schema}.take_signals(
    run_ids bigint[], step_ids text[], tids tid[], statuses text[], wake_ats timestamptz[],
    wake_after_delays boolean[]
) returns text[]
language plpgsql
as $$
declare
    payloads text[];
begin
    if not exists (select from {schema}.signals s where s.run_id = any(run_ids)) then
        return null;
    end if;
    payloads := array(
        select s.payload
        from unnest(run_ids, step_ids, tids, statuses, wake_ats, wake_after_delays) with ordinality
            as n (run_id, step_id, tid, status, wake_at, wake_after_delay, place)
        left join lateral (
            select s.payload from {schema}.signals s
            where s.run_id = n.run_id and s.step_id = n.step_id and n.tid is not null
              and n.status = 'PAUSED' and n.wake_at is null and n.wake_after_delay is not true
              and not exists (
                  select from {schema}.calls c
                  where c.caller_run_id = n.run_id and c.caller_step = n.step_id and c.caller_task is null
              )
            offset 0
        ) s on true
        order by n.place
    );
    delete from {schema}.signals s
    using unnest(run_ids, step_ids, payloads) as n (run_id, step_id, payload)
    where s.run_id = any(array[n.run_id]) and s.step_id = n.step_id and n.payload is not null;
    return payloads;
end
$$;
comment on function {schema}.take_signals is 'Internal: takes the signals that were kept for these steps.';

-- Re-checks of a pause, and sleeps, are not published as pauses.
create or replace function {schema}.new_pauses(
    publish boolean[], run_ids bigint[], step_ids text[], tids tid[], reasons text[],
    wake_ats timestamptz[], wake_after_delays boolean[]
) returns boolean[]
language sql
as $$
    select array(
        select coalesce(n.publish, false) and n.tid is not null and n.wake_at is null
               and n.wake_after_delay is not true
               and case when n.step_id is null then not exists (
                            select from {schema}.messages m
                            where m.message_id = n.run_id and m.last_error = n.reason
                            offset 0)
                        else not exists (
                            select from {schema}.steps s
                            where s.run_id = n.run_id and s.step_id = n.step_id and s.status = 'PAUSED'
                            offset 0)
                   end
        from unnest(publish, run_ids, step_ids, tids, reasons, wake_ats, wake_after_delays) with ordinality
            as n (publish, run_id, step_id, tid, reason, wake_at, wake_after_delay, place)
        order by n.place
    )
$$;
comment on function {schema}.new_pauses is 'Internal: which of these suspensions are new pauses to be published.';

-- An empty kind means no event.
create or replace function {schema}.add_events(
    run_ids bigint[], deliveries integer[], tids tid[], workers bigint[], event_kinds text[],
    event_data text[], at timestamptz
) returns void
language plpgsql
as $$
begin
    if cardinality(array_remove(event_kinds, '')) > 0 then
        insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
        select n.run_id, n.kind, coalesce(nullif(n.data, ''), '{}'), n.worker_id, n.delivery, add_events.at
        from unnest(run_ids, deliveries, tids, workers, event_kinds, event_data)
            as n (run_id, delivery, tid, worker_id, kind, data)
        where n.tid is not null and n.kind <> '';
    end if;
end
$$;
comment on function {schema}.add_events is 'Internal: adds the events that holders of runs report.';
