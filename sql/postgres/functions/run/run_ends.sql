-- The end of a run, by its holder, and the effects of any end.

-- Ends runs as SUCCESS, or as ERROR if an error is given. With `wake` it notifies the waiters; otherwise it returns the
-- runs that have waiters, and the caller notifies them after the commit.
create or replace function {schema}.finish_runs(
    run_ids     bigint[],
    deliveries  integer[],
    outputs     text[],
    errors      text[] default null,
    event_kinds text[] default null,
    event_data  text[] default null,
    repeated    boolean default false,
    wake        boolean default true,
    out outcomes text[], out awaited bigint[]
)
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    held    record;
    tids    tid[];
    workers bigint[];
    ended   bigint[] := run_ids;
    failed  bigint[];
    calls   boolean;  -- some runs wait for others
    tells   boolean;  -- some workflows publish
    _ignored text;     -- see trigger_batch()
    size    constant integer := coalesce(cardinality(run_ids), 0);
    invalid boolean[] := {schema}.invalid_json(size, outputs, errors, array_replace(event_data, '', null));
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    held := {schema}.lock_runs(run_ids, deliveries);
    tids := held.tids;
    workers := held.workers;
    if exists (select from {schema}.calls) then
        tids := {schema}.exclude_busy_callers(run_ids, tids, errors);
    end if;
    with gone as (
        delete from {schema}.messages m where m.ctid = any(tids)
    )
    update {schema}.runs r
    set status = case when errors[i] is null then 'SUCCESS' else 'ERROR' end,
        output = case when errors[i] is null then outputs[i] end, error = errors[i],
        delivery = deliveries[i], worker_id = coalesce(workers[i], r.worker_id), updated_at = now_at,
        completed_at = now_at, paused_at = null
    from generate_series(1, cardinality(run_ids)) i
    where tids[i] is not null and r.run_id = any(array[run_ids[i]]);

    outcomes := array_fill('done'::text, array[size]);
    if array_position(tids, null) is not null then
        outcomes := {schema}.mark_invalid({schema}.run_outcomes(run_ids, deliveries, tids, repeated), invalid);
        ended := array(
            select n.run_id from unnest(run_ids, tids) as n (run_id, tid) where n.tid is not null
        );
    end if;
    if cardinality(array_remove(errors, null)) > 0 then
        failed := array(
            select n.run_id from unnest(run_ids, tids, errors) as n (run_id, tid, error)
            where n.tid is not null and n.error is not null
        );
        perform {schema}.close_runs(failed, now_at);
        perform {schema}.trigger_dead_letters(failed);
    end if;
    if event_kinds is not null then
        perform {schema}.add_events(run_ids, deliveries, tids, workers, event_kinds, event_data, now_at);
    end if;
    -- Behind the locks, because a caller of a live run locks it too: trigger_called(). Like take_waiters().
    with gone as (
        delete from {schema}.awaited_runs a
        where a.run_id = any(ended) and exists (select from {schema}.awaited_runs)
        returning a.run_id
    )
    select array_agg(g.run_id), exists (select from {schema}.calls),
           exists (select from {schema}.workflows w where w.publish <> 'off')
    into awaited, calls, tells
    from gone g;
    if calls then
        perform {schema}.end_calls(ended, now_at);
    end if;
    if tells then
        perform {schema}.publish_run_ends(ended, now_at);
    end if;
    if wake and awaited is not null then
        for i in 1..cardinality(awaited) loop
            _ignored := pg_notify('pawl_{schema_name}', 'run:' || awaited[i]);
        end loop;
    end if;
end
$$;
comment on function {schema}.finish_runs is
    'Ends leased runs: SUCCESS with an output, or ERROR with an error. Returns one outcome per item.';

-- One success without an event, like finish_runs(), but with fence, message and run in one statement and without
-- arrays. If some run waits for another, or the fence does not hold, it calls finish_runs().
create or replace function {schema}.finish_run(
    run_id   bigint,
    delivery integer,
    output   text,
    repeated boolean default false,
    wake     boolean default true,
    out outcome text, out awaited bigint
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at  timestamptz := {schema}.clock();
    ended   record;
    calls   boolean;  -- some runs wait for others
    tells   boolean;  -- some workflows publish
    _ignored text;     -- see trigger_batch()
    parsed  json;
begin
    begin
        parsed := {schema}.require_json(output);
    exception when others then
        outcome := 'invalid';
        return;
    end;
    -- If the row has changed since the statement began, the statement locks it but deletes nothing.
    with gone as (
        delete from {schema}.messages m
        using (
            select m.ctid as tid from {schema}.messages m
            where m.message_id = run_id and m.delivery = finish_run.delivery and m.state || '' = 'leased'
              and m.run_id is null  -- a task's message does not belong to a run
              and not exists (select from {schema}.calls)
            for update skip locked
        ) h
        where m.ctid = h.tid
        returning m.worker_id
    )
    update {schema}.runs r
    set status = 'SUCCESS', output = finish_run.output, delivery = finish_run.delivery,
        worker_id = coalesce(g.worker_id, r.worker_id), updated_at = now_at, completed_at = now_at, paused_at = null
    from gone g where r.run_id = finish_run.run_id;
    if not found then
        ended := {schema}.finish_runs(array[run_id], array[delivery], array[output], repeated => repeated, wake => wake);
        outcome := ended.outcomes[1];
        awaited := ended.awaited[1];
        return;
    end if;
    outcome := 'done';
    -- Behind the locks, as in finish_runs().
    with gone as (
        delete from {schema}.awaited_runs a where a.run_id = finish_run.run_id returning a.run_id
    )
    select g.run_id, exists (select from {schema}.calls),
           exists (select from {schema}.workflows w where w.publish <> 'off')
    into awaited, calls, tells
    from (values (0)) v left join gone g on true;
    if calls then
        perform {schema}.end_calls(array[run_id], now_at);
    end if;
    if tells then
        perform {schema}.publish_run_ends(array[run_id], now_at);
    end if;
    if wake and awaited is not null then
        _ignored := pg_notify('pawl_{schema_name}', 'run:' || awaited);
    end if;
end
$$;
comment on function {schema}.finish_run(bigint, integer, text, boolean, boolean) is
    'Ends one leased run as SUCCESS. Returns the outcome, and the run if it has waiters.';

create or replace function {schema}.close_runs(run_ids bigint[], at timestamptz) returns void
language plpgsql
as $$
begin
    perform {schema}.close_tasks(run_ids, at);
    update {schema}.steps s set status = 'CANCELLED', completed_at = close_runs.at
    where s.run_id = any(run_ids) and s.status in ('PENDING', 'RUNNING', 'PAUSED');
    delete from {schema}.signals s where s.run_id = any(run_ids);
    perform {schema}.cancel_called(run_ids, at);
end
$$;
comment on function {schema}.close_runs is 'Internal: closes the open steps of runs that end without success.';

-- With `wake` the waiters are notified when this transaction commits.
create or replace function {schema}.take_waiters(run_ids bigint[], wake boolean) returns bigint[]
language plpgsql
as $$
declare
    awaited bigint[];
begin
    with gone as (
        delete from {schema}.awaited_runs a
        where a.run_id = any(run_ids) and exists (select from {schema}.awaited_runs)
        returning a.run_id
    )
    select array_agg(g.run_id) into awaited from gone g;
    if wake and awaited is not null then
        perform pg_notify('pawl_{schema_name}', 'run:' || u) from unnest(awaited) u;
    end if;
    return awaited;
end
$$;
comment on function {schema}.take_waiters is 'Internal: returns the runs that have waiters, and removes their marks.';

-- Ends runs that no worker can execute: poison, or no live handler. The caller has locked their messages and their
-- callers: lock_endable_runs().
create or replace function {schema}.fail_runs(run_ids bigint[], types text[], messages text[])
returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
begin
    with gone as (
        delete from {schema}.messages m where m.message_id = any(run_ids)
        returning m.message_id, m.delivery
    ),
    failed as (
        update {schema}.runs r
        set status = 'ERROR', delivery = g.delivery, updated_at = now_at, completed_at = now_at,
            paused_at = null,
            error = format('{"type":%s,"message":%s}', to_json(n.type), to_json(coalesce(n.message, '')))
        from gone g join unnest(run_ids, types, messages) as n (run_id, type, message)
            on n.run_id = g.message_id
        where r.run_id = any(array[g.message_id]) and r.completed_at is null
        returning r.run_id, r.workflow_id, r.delivery, n.type, r.error
    )
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select f.run_id, f.type, f.error, f.delivery, now_at
    from failed f join {schema}.workflows w using (workflow_id)
    where w.audit <> 'off';
    perform {schema}.close_runs(run_ids, now_at);
    perform {schema}.trigger_dead_letters(run_ids);
    perform {schema}.end_calls(run_ids, now_at);
    perform {schema}.publish_run_ends(run_ids, now_at, types);
    perform {schema}.take_waiters(run_ids, true);
end
$$;
comment on function {schema}.fail_runs is 'Internal: ends runs that no worker can execute.';
