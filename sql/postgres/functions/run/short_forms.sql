-- Shorter forms of suspend_runs and resume, for workers in other languages (docs/sql.md).

-- The retry settings of the workflows, aligned with the runs; null for an id that is not a live run.
create or replace function {schema}.retry_rules(run_ids bigint[]) returns table (
    place bigint, failures integer, base_ms bigint, cap_ms bigint, audited boolean
)
language sql stable
as $$
    select n.place, i.attempts, i.backoff_base_ms, i.backoff_cap_ms, i.audit <> 'off'
    from unnest(run_ids) with ordinality as n (run_id, place)
    left join lateral (
        select m.attempts, w.backoff_base_ms, w.backoff_cap_ms, w.audit
        from {schema}.messages m join {schema}.workflows w on w.workflow_id = m.queue_id
        where m.message_id = n.run_id
        offset 0  -- one lookup, independent of the planner's statistics
    ) i on true
$$;
comment on function {schema}.retry_rules is 'Internal: failures, backoff and audit level of live runs.';

-- Errors are JSON with type and message. A null delay means the workflow's backoff: min(cap, base * 2^n) plus up to
-- half of that, where n is the number of earlier failures. With a step, `attempts` counts the executions of that step,
-- which becomes PENDING; without one, it counts the failures of the run since its last progress (null: one more than
-- before).
create or replace function {schema}.retry_runs(
    run_ids    bigint[],
    deliveries integer[],
    delays_ms  bigint[],
    errors     json[],
    step_ids   text[] default null,
    positions  integer[] default null,
    attempts   integer[] default null,
    repeated   boolean default false
) returns text[]
language plpgsql
as $$
declare
    n record;
begin
    select array_agg(coalesce(f.delay_ms, (f.raw * (1 + random() / {rule:jitter_part}))::bigint) order by f.place) as delays_ms,
           array_agg(case when f.step_id is null then f.failed else f.failures end order by f.place) as attempts,
           array_agg({schema}.error_message(f.error::text) order by f.place) as reasons,
           array_agg(f.error::text order by f.place) as errors,
           array_agg(case when f.audited then case when f.step_id is null then '{event:run_retry}' else '{event:step_retry}' end
                          else '' end order by f.place) as kinds,
           array_agg(case when f.step_id is not null then 'PENDING' end order by f.place) as statuses,
           array_agg(case when f.step_id is not null then f.failed end order by f.place) as step_attempts
    into n
    from (
        select r.*, u.delay_ms, u.error, u.step_id, c.failed,
               least(r.cap_ms, r.base_ms * power(2, least(greatest(c.failed, 1) - 1, {rule:most_doublings}))) as raw
        from {schema}.retry_rules(run_ids) r
        join unnest(run_ids, delays_ms, errors, step_ids, attempts) with ordinality
            as u (run_id, delay_ms, error, step_id, attempt, place) using (place)
        cross join lateral (
            select coalesce(u.attempt, case when u.step_id is null then r.failures + 1 end, 1) as failed
        ) c
    ) f;
    return {schema}.suspend_runs(
        run_ids, deliveries, array_fill('RUNNING'::text, array[coalesce(cardinality(run_ids), 0)]), n.delays_ms,
        attempts => n.attempts, reasons => n.reasons, step_ids => step_ids, positions => positions,
        step_statuses => n.statuses, step_attempts => n.step_attempts, errors => n.errors,
        event_kinds => n.kinds, event_data => n.errors, repeated => repeated
    );
end
$$;
comment on function {schema}.retry_runs is
    'Suspends leased runs after a failure, for the delay or the workflow''s backoff. Returns one outcome per item.';

-- At the next check (after an hour if null) the run is delivered again, and may pause again.
create or replace function {schema}.pause(
    run_ids        bigint[],
    deliveries     integer[],
    step_ids       text[],
    positions      integer[],
    messages       text[] default null,
    check_after_ms bigint[] default null,
    conditions     text[] default null,
    repeated       boolean default false
) returns text[]
language plpgsql
as $$
declare
    n record;
begin
    select array_agg(coalesce(u.check_after_ms, {rule:default_pause_check_ms}) order by r.place) as delays_ms,
           array_agg(coalesce(s.attempt, 0) order by r.place) as step_attempts,
           array_agg(coalesce(r.failures, 0) order by r.place) as attempts,
           array_agg(case when r.audited and s.status is distinct from 'PAUSED' then '{event:paused}' else '' end
                     order by r.place) as kinds,
           array_agg(format('{"type":"pause","message":%s,"step":%s}', to_json(coalesce(u.message, '')),
                            to_json(coalesce(u.step_id, ''))) order by r.place) as data
    into n
    from {schema}.retry_rules(run_ids) r
    join unnest(run_ids, step_ids, messages, check_after_ms) with ordinality
        as u (run_id, step_id, message, check_after_ms, place) using (place)
    left join lateral (
        select s.attempt, s.status from {schema}.steps s
        where s.run_id = u.run_id and s.step_id = u.step_id
        offset 0
    ) s on true;
    return {schema}.suspend_runs(
        run_ids, deliveries, array_fill('PAUSED'::text, array[coalesce(cardinality(run_ids), 0)]), n.delays_ms,
        attempts => n.attempts, step_ids => step_ids, positions => positions,
        step_statuses => array_fill('PAUSED'::text, array[coalesce(cardinality(run_ids), 0)]),
        step_attempts => n.step_attempts, pause_messages => messages, pause_conditions => conditions,
        event_kinds => n.kinds, event_data => n.data, repeated => repeated
    );
end
$$;
comment on function {schema}.pause is
    'Suspends leased runs at a step until it is resumed, or until the next check. Returns one outcome per item.';

create or replace function {schema}.signal(run_id bigint, step_id text, data json default 'null') returns void
language sql
as $$ select {schema}.resume_early(run_id, step_id, data) $$;
comment on function {schema}.signal(bigint, text, json) is
    'Sets the result of a step at which a run waits or will wait, like resume_early(). The first call wins.';
