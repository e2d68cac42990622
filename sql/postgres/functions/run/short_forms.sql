-- The rest of what docs/sql.md describes for workers in other languages: shorter forms of suspend_runs and
-- resume.

-- What the workflows of these runs say about retries, aligned with the runs; nulls for what is no live run.
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
        offset 0  -- one look-up, whatever the planner believes about the table
    ) i on true
$$;
comment on function {schema}.retry_rules is 'Internal: failures, backoff and audit of live runs.';

-- Errors are JSON with type and message. A null delay is the workflow's backoff: min(cap, base * 2^n) and up
-- to a half more, where n counts the failures before. With a step, `attempts` are executions of that step,
-- and it is PENDING; without one, failures of the run since its last progress (null: one more than before).
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
    'Lets runs in hand come back after a failure: after the delay, or the workflow''s backoff. One outcome each.';

-- At the next check (an hour where null) the run is handed out again, and may pause again.
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
    'Lets runs in hand wait at a step until it is resumed, or for the next check. One outcome each.';

create or replace function {schema}.signal(run_id bigint, step_id text, data json default 'null') returns void
language sql
as $$ select {schema}.resume_early(run_id, step_id, data) $$;
comment on function {schema}.signal(bigint, text, json) is
    'Gives a step that a run waits at, or will wait at, its result: resume_early(), as programs call it. First one wins.';
