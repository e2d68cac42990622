-- Queues: definition and administration. Errors use SQLSTATEs of the class PW (docs/errors.md).

-- Producers hold the queue's lock shared until their transaction ends, delete_queue holds it exclusively: so no message
-- stays behind without its queue. See functions/README.md, number 7 of the lock order, and docs/decisions/0030.
create or replace function {schema}.queue_lock_key(queue_id bigint) returns bigint
language sql stable
as $$ select hashint8extended(queue_id, '{schema}.messages'::regclass::oid::bigint) $$;
comment on function {schema}.queue_lock_key is 'Internal: the key of a queue''s advisory lock.';

create or replace function {schema}.share_queues(queue_ids bigint[]) returns void
language plpgsql
as $$
begin
    queue_ids := array(
        select u from unnest(queue_ids) u where not pg_try_advisory_xact_lock_shared({schema}.queue_lock_key(u))
    );
    if cardinality(queue_ids) > 0 then
        perform from {schema}.queues q where q.queue_id = any(queue_ids) order by q.queue_id for key share;
    end if;
end
$$;
comment on function {schema}.share_queues is
    'Internal: prevents the deletion of these queues until the transaction ends.';

create or replace function {schema}.try_share_queue(queue_id bigint) returns boolean
language plpgsql
as $$
begin
    if pg_try_advisory_xact_lock_shared({schema}.queue_lock_key(queue_id)) then
        return true;
    end if;
    perform from {schema}.queues q where q.queue_id = try_share_queue.queue_id for key share skip locked;
    return found;
end
$$;
comment on function {schema}.try_share_queue is
    'Internal: like share_queues() for one queue, without waiting; false if it is being deleted.';

create or replace function {schema}.lock_queue(queue_id bigint) returns void
language plpgsql
as $$
begin
    perform from {schema}.queues q where q.queue_id = lock_queue.queue_id for update;
    perform pg_advisory_xact_lock({schema}.queue_lock_key(queue_id));
end
$$;
comment on function {schema}.lock_queue is 'Internal: locks a queue exclusively.';

-- Behind that lock `queues` is read again, because the queue may have been deleted. In a transaction with an old
-- snapshot that read shows the deleted row; locking the row fails there (40001) if it is gone.
create or replace function {schema}.recheck_queues(queue_ids bigint[]) returns void
language plpgsql
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform from {schema}.queues q where q.queue_id = any(queue_ids) order by q.queue_id for key share;
    end if;
end
$$;
comment on function {schema}.recheck_queues is
    'Internal: fails if a queue that an old snapshot still shows was deleted.';

create or replace function {schema}.queue_id(queue_name text) returns bigint
language plpgsql stable
as $$
declare
    found_id bigint;
begin
    select q.queue_id into found_id from {schema}.queues q where q.name = queue_name;
    if found_id is null then
        raise exception '{text:queue_missing}', queue_name, queue_name
            using errcode = 'PW001';
    end if;
    return found_id;
end
$$;
comment on function {schema}.queue_id is 'The id of a queue; raises if it does not exist.';

-- Users must not add, delete or change the messages and the queue of a workflow directly.
create or replace function {schema}.refuse_workflow_queue(queue_id bigint) returns void
language plpgsql stable
as $$
begin
    if exists (select from {schema}.workflows w where w.workflow_id = refuse_workflow_queue.queue_id) then
        raise exception '{text:queue_of_workflow}',
            (select q.name from {schema}.queues q where q.queue_id = refuse_workflow_queue.queue_id)
            using errcode = 'PW009';
    end if;
end
$$;
comment on function {schema}.refuse_workflow_queue is 'Internal: raises if the queue belongs to a workflow.';

-- Refuses queues of workflows, because a plain dequeue cannot end a run or a task.
create or replace function {schema}.dequeuable(queue_name text) returns bigint
language plpgsql stable
as $$
declare
    id bigint := {schema}.queue_id(queue_name);
begin
    if exists (select from {schema}.workflows w where w.workflow_id = id and w.is_flow) then
        raise exception '{text:queue_of_tasks}', queue_name
            using errcode = 'PW009';
    end if;
    return {schema}.readable_queue(queue_name);
end
$$;
comment on function {schema}.dequeuable is 'Internal: the id of a queue of plain messages; raises for other queues.';

-- Like dequeuable(), but accepts flows: read_with_poll() delivers their tasks.
create or replace function {schema}.readable_queue(queue_name text) returns bigint
language plpgsql stable
as $$
declare
    id bigint := {schema}.queue_id(queue_name);
begin
    if exists (select from {schema}.workflows w where w.workflow_id = id and not w.is_flow) then
        raise exception '{text:queue_of_runs}', queue_name
            using errcode = 'PW009', hint = 'in SQL: claim_runs()';
    end if;
    return id;
end
$$;
comment on function {schema}.readable_queue is
    'Internal: the id of a queue of plain messages or tasks; raises for queues of runs.';

-- Changes only the given options. An empty dead_letter_queue removes the setting: dead letters go to the archive.
create or replace function {schema}.create_queue(
    queue_name        text,
    keep_archive      boolean default null,
    lease_ms          bigint default null,
    max_strikes       integer default null,
    max_attempts      integer default null,
    dead_letter_queue text default null
) returns void
language plpgsql
as $$
declare
    forward_to bigint;
    id bigint;
begin
    if queue_name is null or queue_name !~ '^[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$'
       or length(queue_name) > {rule:max_name_bytes} then
        raise exception '{text:name}', 'queue', queue_name, {rule:max_name_bytes}
            using errcode = 'PW003';
    end if;
    if dead_letter_queue = queue_name then
        raise exception '{text:queue_forwards_to_itself}', queue_name
            using errcode = 'PW003';
    end if;
    perform {schema}.check_range('lease_ms', lease_ms, 1, {schema}.longest_ms());
    perform {schema}.check_range('max_strikes', max_strikes, 1, {rule:max_strikes});
    perform {schema}.check_range('max_attempts', max_attempts, 0, {rule:max_attempts});
    while dead_letter_queue <> '' loop
        forward_to := {schema}.queue_id(dead_letter_queue);
        -- The row lock prevents a concurrent deletion.
        perform from {schema}.queues q where q.queue_id = forward_to for key share;
        exit when found;
    end loop;
    insert into {schema}.queues as q
        (name, keep_archive, lease_ms, max_strikes, max_attempts, dead_letter_queue_id, created_at)
    values (
        queue_name, coalesce(create_queue.keep_archive, true), create_queue.lease_ms,
        coalesce(create_queue.max_strikes, {rule:default_queue_strikes}),
        coalesce(create_queue.max_attempts, {rule:default_queue_attempts}), forward_to,
        {schema}.clock()
    )
    on conflict (name) do update set
        keep_archive = coalesce(create_queue.keep_archive, q.keep_archive),
        lease_ms = coalesce(create_queue.lease_ms, q.lease_ms),
        max_strikes = coalesce(create_queue.max_strikes, q.max_strikes),
        max_attempts = coalesce(create_queue.max_attempts, q.max_attempts),
        dead_letter_queue_id =
            case when dead_letter_queue is null then q.dead_letter_queue_id else forward_to end
    returning q.queue_id into id;
    perform {schema}.refuse_workflow_queue(u) from unnest(array[id, forward_to]) u;
end
$$;
comment on function {schema}.create_queue is 'Creates a queue, or changes the given options of an existing queue.';

-- Deletes all live messages in one statement through the indexes of both states, so that a message that changes its
-- state concurrently is not missed.
create or replace function {schema}.delete_messages(queue_id bigint) returns bigint
language plpgsql
as $$
declare
    deleted bigint;
begin
    delete from {schema}.messages m
    where (m.queue_id = delete_messages.queue_id and m.state = 'ready')
       or (m.queue_id = delete_messages.queue_id and m.state <> 'ready');
    get diagnostics deleted = row_count;
    return deleted;
end
$$;
comment on function {schema}.delete_messages is 'Internal: deletes the live messages of a queue; returns how many.';

create or replace function {schema}.delete_queue(queue_name text, force boolean default false)
returns void
language plpgsql
as $$
declare
    id   bigint := {schema}.queue_id(queue_name);
    held record;
begin
    perform {schema}.refuse_workflow_queue(id);
    perform {schema}.lock_queue(id);
    if force is not true then
        held := {schema}.count_messages(id, {schema}.clock(), {schema}.count_limit(), {schema}.count_limit());
        if held.ready + held.waiting + held.leased + held.dead > 0 then
            raise exception '{text:queue_not_empty}',
                queue_name,
                {schema}.count_text(held.ready + held.waiting + held.leased,
                                    not held.at_least && array['ready', 'waiting', 'leased']),
                {schema}.count_text(held.dead, 'dead' <> all(held.at_least)) using errcode = 'PW002';
        end if;
    end if;
    perform {schema}.delete_messages(id);
    delete from {schema}.archive a where a.queue_id = id;
    delete from {schema}.queues q where q.queue_id = id;
end
$$;
comment on function {schema}.delete_queue is
    'Deletes a queue and its archive. Refused while it has live messages or dead letters, unless force is true.';

create or replace function {schema}.pause_queue(queue_name text, paused boolean default true)
returns void
language plpgsql
as $$
declare
    id bigint := {schema}.queue_id(queue_name);
begin
    perform {schema}.check_given('paused', paused is null);
    update {schema}.queues q set paused = pause_queue.paused where q.queue_id = id;
end
$$;
comment on function {schema}.pause_queue is
    'Pauses a queue: enqueue works, claims return nothing. Pass false to resume it.';

create or replace function {schema}.purge_queue(queue_name text) returns bigint
language plpgsql
as $$
declare
    id bigint := {schema}.queue_id(queue_name);
begin
    perform {schema}.refuse_workflow_queue(id);
    return {schema}.delete_messages(id);
end
$$;
comment on function {schema}.purge_queue is 'Deletes all live messages of a queue; returns how many.';
