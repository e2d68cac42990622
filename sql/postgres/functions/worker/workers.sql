-- Workers: registration, heartbeats and operations of operators.

create or replace function {schema}.register_worker(
    worker_name text, host text, port integer, pid integer, lease_ms bigint,
    subscriptions text[], handlers text[]
) returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at timestamptz := {schema}.clock();
    id     bigint;
begin
    perform {schema}.check_text('a worker''s name', worker_name, {rule:max_worker_name_bytes});
    perform {schema}.check_given('host, port, pid and lease_ms', num_nulls(
        register_worker.host, register_worker.port, register_worker.pid, register_worker.lease_ms) > 0);
    perform {schema}.check_range('the bytes of host', octet_length(register_worker.host), 0, {rule:max_worker_name_bytes});
    perform {schema}.check_range('port', register_worker.port, 0, 65535);
    perform {schema}.check_range('pid', register_worker.pid, 0, 2147483647);
    perform {schema}.check_range('lease_ms', register_worker.lease_ms, 1, {schema}.longest_ms());
    if exists (
        select from unnest(register_worker.subscriptions || register_worker.handlers) u
        where u is null or octet_length(u) > {rule:max_worker_name_bytes}
    ) then
        raise exception 'a subscription or handler must have at most {rule:max_worker_name_bytes} bytes' using errcode = 'PW003';
    end if;
    insert into {schema}.workers
        (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, heartbeat_at)
    values (worker_name, register_worker.host, register_worker.port, register_worker.pid, 'READY',
            register_worker.lease_ms, coalesce(register_worker.subscriptions, '{}'),
            coalesce(register_worker.handlers, '{}'), now_at, now_at)
    returning worker_id into id;
    return id;
end
$$;
comment on function {schema}.register_worker is 'Registers a worker; returns its id.';

-- If `beats` is not greater than in the last answer, the store was restored from an older backup. No row means that the
-- worker was purged. In both cases it must drop its leases and register again.
create or replace function {schema}.beat_worker(worker bigint) returns table (status text, beats bigint)
language sql
as $$
    update {schema}.workers w set heartbeat_at = {schema}.clock(), beats = w.beats + 1
    where w.worker_id = worker
    returning w.status, w.beats
$$;
comment on function {schema}.beat_worker is
    'Records a heartbeat of a worker; returns the status that it should have, and the number of heartbeats.';

-- Null means that the worker has no row because it was purged. It must drop its leases and register again.
create or replace function {schema}.heartbeat(worker bigint) returns text
language sql
as $$
    select b.status from {schema}.beat_worker(worker) b
$$;
comment on function {schema}.heartbeat is 'Records a heartbeat of a worker; returns the status that it should have.';

-- For a claim whose answer was lost: the messages that it delivered are leased, but unknown to the worker. Leases end
-- soon, so they are among the first rows by time: the rows of long delays behind them are not read.
create or replace function {schema}.list_leases(worker bigint, queue_ids bigint[])
returns table (message_id bigint, delivery integer)
language sql
as $$
    select m.message_id, m.delivery
    from unnest(queue_ids) as h (queue_id)
    cross join lateral (
        select m.message_id, m.delivery, m.state, m.worker_id from {schema}.messages m
        where m.queue_id = h.queue_id and m.state <> 'ready' and m.visible_at > {schema}.clock()
        order by m.visible_at limit {rule:max_held_rows}
    ) m
    where m.state = 'leased' and m.worker_id = list_leases.worker
$$;
comment on function {schema}.list_leases is
    'The messages that a worker holds in these queues, so that it can hand back those of a claim whose answer was lost.';

create or replace function {schema}.transition_worker(worker bigint, worker_event text) returns text
language plpgsql
as $$
declare
    current_status text;
    next_status    text;
    by_operator    boolean;
begin
    select w.status into current_status
    from {schema}.workers w where w.worker_id = worker for update;
    if current_status is null then
        raise exception '{text:worker_missing}', worker using errcode = 'PW005';
    end if;
    select t.to_status into next_status
    from {schema}.worker_transitions t
    where t.from_status = current_status and t.event = worker_event;
    if next_status is null then
        raise exception '{text:worker_cannot}', worker, current_status, worker_event
            using errcode = 'PW006';
    end if;
    by_operator := worker_event in ('interrupt', 'suspend', 'resume', 'stop');
    -- An operator's event is no sign of life.
    update {schema}.workers w
    set status = next_status, heartbeat_at = case when by_operator then w.heartbeat_at else {schema}.clock() end
    where w.worker_id = worker and w.status <> next_status;
    if by_operator then  -- it reacts now, not at its next heartbeat
        perform pg_notify('pawl_{schema_name}', 'worker:' || worker);
    end if;
    return next_status;
end
$$;
comment on function {schema}.transition_worker is
    'Changes the status of a worker by an event of the table worker_transitions; raises for any other event.';

create or replace function {schema}.stop_worker(worker bigint) returns text
language sql
as $$ select {schema}.transition_worker(worker, 'stop') $$;
comment on function {schema}.stop_worker is 'Records that a worker has stopped.';

create or replace function {schema}.list_workers(only_worker bigint default null) returns table (
    worker_id bigint, name text, host text, port integer, pid integer, status text, lost boolean,
    lease_ms bigint, subscriptions text[], handlers text[], started_at timestamptz,
    heartbeat_at timestamptz
)
language sql
as $$
    select w.worker_id, w.name, w.host, w.port, w.pid, w.status,
           w.status <> 'STOPPED' and w.heartbeat_at + {schema}.ms(w.lease_ms) < t.at,
           w.lease_ms, w.subscriptions, w.handlers, w.started_at, w.heartbeat_at
    from {schema}.workers w cross join (select {schema}.clock() as at) t
    where only_worker is null or w.worker_id = only_worker
    order by w.worker_id
$$;
comment on function {schema}.list_workers is
    'Lists workers. A worker is lost if it sent no heartbeat for longer than its lease.';

create or replace function {schema}.purge_workers(older_than_ms bigint) returns bigint
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    purged bigint;
begin
    perform {schema}.check_range('older_than_ms', older_than_ms, 0, {schema}.longest_ms());
    delete from {schema}.workers w
    where (w.status = 'STOPPED' or w.heartbeat_at + {schema}.ms(w.lease_ms) < now_at)
      and w.heartbeat_at <= now_at - {schema}.ms(older_than_ms);
    get diagnostics purged = row_count;
    return purged;
end
$$;
comment on function {schema}.purge_workers is
    'Deletes stopped and lost workers whose last heartbeat is at least that old; returns how many.';

create or replace function {schema}.delete_worker(worker bigint) returns void
language plpgsql
as $$
declare
    known record;
begin
    select w.status, w.heartbeat_at + {schema}.ms(w.lease_ms) < {schema}.clock() as lost into known
    from {schema}.workers w where w.worker_id = worker for update;
    if not found then
        raise exception '{text:worker_missing}', worker using errcode = 'PW005';
    elsif known.status <> 'STOPPED' and not known.lost then
        raise exception '{text:worker_is_live}', worker,
            known.status using errcode = 'PW006';
    end if;
    delete from {schema}.workers w where w.worker_id = worker;
end
$$;
comment on function {schema}.delete_worker is 'Deletes one worker, which must be stopped or lost.';

-- Uses the index of leased and waiting messages: ready messages are not read. Reads up to 10000 messages of each queue,
-- those whose lease or delay ends first.
create or replace function {schema}.list_held(
    worker bigint, after_message bigint default 0, max_rows integer default {rule:default_page_rows}
) returns table (
    message_id bigint, queue text, priority integer, delivery integer, strikes integer,
    attempts integer, state text, enqueued_at timestamptz, visible_at timestamptz, worker_id bigint,
    last_error text, payload json
)
language sql
as $$
    select m.message_id, q.name, m.priority, m.delivery, m.strikes, m.attempts, m.state, m.enqueued_at, m.visible_at,
           m.worker_id, m.last_error, m.payload
    from {schema}.queues q
    cross join (select {schema}.clock() as at) now
    cross join lateral (
        select m.* from {schema}.messages m
        where m.queue_id = q.queue_id and m.state <> 'ready' and m.visible_at > now.at
        order by m.visible_at limit {schema}.count_limit()
    ) m
    where m.state = 'leased' and m.worker_id = list_held.worker and m.message_id > coalesce(after_message, 0)
    order by m.message_id limit {schema}.page_size(max_rows)
$$;
comment on function {schema}.list_held is
    'Lists the messages that a worker holds, including those of runs and tasks, by id, page by page.';
