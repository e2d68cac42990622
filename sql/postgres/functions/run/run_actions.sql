-- What people do to runs. An action takes the lock of the run's message first, and waits for it: a
-- worker's batch holds it for a moment only, and then the worker's writes and ours follow each other.

-- Waits for the lock of a run's message; a flow's run has none: for that of its own row.
create or replace function {schema}.wait_for_run(run_id bigint) returns void
language plpgsql
as $$
begin
    perform {schema}.wait_for_callers(wait_for_run.run_id);
    perform from {schema}.messages m where m.message_id = wait_for_run.run_id for update;
    perform from {schema}.runs r
    where r.run_id = wait_for_run.run_id and r.remaining_steps is not null for update;
end
$$;
comment on function {schema}.wait_for_run is 'Internal: locks a run, and those who wait for it.';

-- The run as it is behind its lock. Refuses unknown and soft-deleted ones.
create or replace function {schema}.lock_run(
    run_id bigint,
    out status text, out workflow_id bigint, out audited boolean, out delivery integer
)
language plpgsql
as $$
#variable_conflict use_column
declare
    deleted boolean;
begin
    perform {schema}.wait_for_run(lock_run.run_id);
    select r.status, r.workflow_id, w.audit <> 'off', coalesce(m.delivery, r.delivery),
           r.deleted_at is not null
    into lock_run.status, lock_run.workflow_id, lock_run.audited, lock_run.delivery, deleted
    from {schema}.runs r
    join {schema}.workflows w using (workflow_id)
    left join {schema}.messages m on m.message_id = r.run_id
    where r.run_id = lock_run.run_id;
    if deleted is null then
        raise exception '{text:run_missing}', lock_run.run_id using errcode = 'PW010';
    elsif deleted then
        raise exception '{text:run_deleted}', lock_run.run_id
            using errcode = 'PW011';
    end if;
end
$$;
comment on function {schema}.lock_run is 'Internal: a run behind the lock of its message.';

create or replace function {schema}.lock_live_run(
    run_id bigint,
    out status text, out workflow_id bigint, out audited boolean, out delivery integer
)
language plpgsql
as $$
#variable_conflict use_column
begin
    select l.status, l.workflow_id, l.audited, l.delivery
    into lock_live_run.status, lock_live_run.workflow_id, lock_live_run.audited, lock_live_run.delivery
    from {schema}.lock_run(lock_live_run.run_id) l;
    if lock_live_run.status in ('SUCCESS', 'ERROR', 'CANCELLED') then
        raise exception '{text:run_ended}',
            lock_live_run.run_id, lock_live_run.status using errcode = 'PW012';
    end if;
end
$$;
comment on function {schema}.lock_live_run is 'Internal: the same, refused where the run has ended.';

-- Nothing where the workflow keeps no events.
create or replace function {schema}.add_event(
    run_id bigint, audited boolean, kind text, data text, delivery integer, at timestamptz
) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select add_event.run_id, add_event.kind, add_event.data, add_event.delivery, add_event.at
    where audited
$$;
comment on function {schema}.add_event is 'Internal: records an event where the workflow keeps them.';

-- A waiting run can be claimed from now on. What has strikes stays a due row, so that ready rows never
-- carry suspicion.
create or replace function {schema}.make_visible(run_id bigint, workflow_id bigint, at timestamptz)
returns boolean
language plpgsql
as $$
begin
    update {schema}.messages m
    set state = case when m.strikes > 0 then 'waiting' else 'ready' end,
        visible_at = least(m.visible_at, make_visible.at)
    where m.message_id = make_visible.run_id and m.state || '' = 'waiting';
    if found then
        perform pg_notify('pawl_{schema_name}', make_visible.workflow_id::text);
    end if;
    return found;
end
$$;
comment on function {schema}.make_visible is 'Internal: lets a waiting run be claimed now.';

create or replace function {schema}.cancel_locked(
    run_id bigint, reason text, audited boolean, delivery integer, at timestamptz
) returns void
language plpgsql
as $$
declare
    cancelled_error text :=
        format('{"type":"{event:cancelled}","message":%s}', to_json(coalesce(cancel_locked.reason, '')));
begin
    update {schema}.runs r
    set status = 'CANCELLED', cancelled = true, error = cancelled_error, delivery = cancel_locked.delivery,
        updated_at = cancel_locked.at, completed_at = cancel_locked.at, paused_at = null
    where r.run_id = cancel_locked.run_id;
    -- After the update: a concurrent repair may just have restored the message.
    delete from {schema}.messages m where m.message_id = cancel_locked.run_id;
    perform {schema}.close_runs(array[run_id], at);
    perform {schema}.add_event(run_id, audited, '{event:cancelled}', {schema}.with_actor(cancelled_error), delivery, at);
    perform {schema}.end_calls(array[run_id], at);
    perform {schema}.publish_run_ends(array[run_id], at);
end
$$;
comment on function {schema}.cancel_locked is 'Internal: cancels a run that the caller has locked.';

-- Told to everybody: to who waits for the run, and to who works on it.
create or replace function {schema}.notify_run(run_id bigint) returns void
language sql
as $$
    delete from {schema}.awaited_runs a where a.run_id = notify_run.run_id;
    select pg_notify('pawl_{schema_name}', 'cancelled:' || notify_run.run_id);
$$;
comment on function {schema}.notify_run is 'Internal: sends the NOTIFY of a cancelled run.';

create or replace function {schema}.cancel(run_id bigint, reason text default '') returns void
language plpgsql
as $$
declare
    run record;
begin
    select * into run from {schema}.lock_live_run(run_id);
    perform {schema}.cancel_locked(run_id, reason, run.audited, run.delivery, {schema}.clock());
    perform {schema}.notify_run(run_id);
end
$$;
comment on function {schema}.cancel is
    'Ends a live run as CANCELLED: nothing more of it is recorded, and a worker in it is told.';

create or replace function {schema}.wake(run_id bigint) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    run    record;
begin
    select * into run from {schema}.lock_live_run(run_id);
    if {schema}.make_visible(run_id, run.workflow_id, now_at)
       or {schema}.make_tasks_visible(run_id, run.workflow_id, now_at) then
        perform {schema}.add_event(
            run_id, run.audited, '{event:woken}', {schema}.with_actor('{}'), run.delivery, now_at);
    elsif {schema}.is_lost(run_id) then
        raise exception '{text:run_lost_message}',
            run_id, run.status using errcode = 'PW004';
    end if;
end
$$;
comment on function {schema}.wake is
    'Lets a waiting run be taken up now. No effect on one that is ready or in a worker''s hands.';

-- lock_run() for one that is to be copied: its workflow is locked first, as where that is deleted.
create or replace function {schema}.lock_origin(
    run_id bigint,
    out status text, out workflow_id bigint, out audited boolean, out delivery integer
)
language sql
as $$
    select {schema}.share_queues(array[r.workflow_id])
    from {schema}.runs r where r.run_id = lock_origin.run_id;
    select l.* from {schema}.lock_run(lock_origin.run_id) l;
$$;
comment on function {schema}.lock_origin is 'Internal: a run behind its lock and that of its workflow.';

-- A run with the same workflow, input, priority, tags and parent, and the finished steps; before_position:
-- only those before it. The caller has locked both: lock_origin().
create or replace function {schema}.copy_run(
    origin bigint, workflow_id bigint, forked_at text, before_position integer, at timestamptz
) returns bigint
language plpgsql
as $$
declare
    made bigint;
begin
    if {schema}.is_flow_run(origin) then
        return {schema}.copy_flow_run(origin, workflow_id, forked_at, before_position, at);
    end if;
    perform from {schema}.runs r where r.run_id = origin for key share;  -- not pruned meanwhile
    insert into {schema}.messages (queue_id, priority, state, visible_at, enqueued_at, payload)
    select r.workflow_id, r.priority, 'ready', copy_run.at, copy_run.at, 'null'
    from {schema}.runs r where r.run_id = origin
    returning message_id into made;
    if made is null then  -- it was pruned meanwhile
        raise exception '{text:run_missing}', origin using errcode = 'PW010';
    end if;
    insert into {schema}.runs
        (run_id, workflow_id, status, priority, max_attempts, parent_run_id, origin_run_id, forked_at,
         created_at, updated_at, input)
    select made, r.workflow_id, 'QUEUED', r.priority, r.max_attempts, r.parent_run_id, r.run_id,
           copy_run.forked_at, copy_run.at, copy_run.at, r.input
    from {schema}.runs r where r.run_id = origin;
    perform {schema}.add_triggered(array[made], at);
    insert into {schema}.run_tags (tag, run_id)
    select t.tag, made from {schema}.run_tags t where t.run_id = origin;
    insert into {schema}.steps
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at, wake_at,
         pause_message, pause_condition, input, output, error)
    select made, s.step_id, s.position, s.status, s.attempt, 0, s.worker_id, s.started_at, s.completed_at,
           s.wake_at, s.pause_message, s.pause_condition, s.input, s.output, s.error
    from {schema}.steps s
    where s.run_id = origin and s.status in ('SUCCESS', 'SKIPPED')
      and (before_position is null or s.position < before_position);
    perform pg_notify('pawl_{schema_name}', copy_run.workflow_id::text);
    return made;
end
$$;
comment on function {schema}.copy_run is 'Internal: a new run with the finished steps of another.';

create or replace function {schema}.retry(run_id bigint) returns bigint
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    run    record;
    made   bigint;
begin
    select * into run from {schema}.lock_origin(run_id);
    if run.status not in ('ERROR', 'CANCELLED') then
        raise exception '{text:run_not_failed}',
            run_id, run.status using errcode = 'PW013';
    end if;
    made := {schema}.copy_run(run_id, run.workflow_id, null, null, now_at);
    perform {schema}.add_event(
        run_id, run.audited, '{event:retried}', {schema}.with_actor(format('{"run_id":%s}', made)), run.delivery, now_at);
    return made;
end
$$;
comment on function {schema}.retry is
    'A new run, linked to a failed or cancelled one, that takes its finished steps over; returns its id.';

create or replace function {schema}.fork(run_id bigint, from_step text) returns bigint
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    run    record;
    place  integer;
    made   bigint;
begin
    select * into run from {schema}.lock_origin(fork.run_id);
    select s.position into place
    from {schema}.steps s where s.run_id = fork.run_id and s.step_id = from_step;
    if place is null then
        raise exception '{text:run_without_step}', run_id, from_step
            using errcode = 'PW014';
    end if;
    made := {schema}.copy_run(run_id, run.workflow_id, from_step, place, now_at);
    perform {schema}.add_event(
        run_id, run.audited, '{event:forked}',
        {schema}.with_actor(format('{"run_id":%s,"step":%s}', made, to_json(from_step))), run.delivery, now_at);
    return made;
end
$$;
comment on function {schema}.fork is
    'A new run from any run, which takes over only the finished steps before from_step; returns its id.';

create or replace function {schema}.delete_run(run_id bigint, reason text default '') returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    run    record;
begin
    select * into run from {schema}.lock_run(delete_run.run_id);
    if run.status not in ('SUCCESS', 'ERROR', 'CANCELLED') then
        perform {schema}.cancel_locked(run_id, reason, run.audited, run.delivery, now_at);
    end if;
    update {schema}.runs r
    set deleted_at = now_at, deleted_reason = reason, updated_at = now_at
    where r.run_id = delete_run.run_id and r.deleted_at is null;
    if not found then  -- somebody else was faster
        perform {schema}.lock_run(run_id);
    end if;
    perform {schema}.add_event(
        run_id, run.audited, '{event:deleted}',
        {schema}.with_actor(format('{"reason":%s}', to_json(coalesce(reason, '')))), run.delivery, now_at);
    perform {schema}.notify_run(run_id);
end
$$;
comment on function {schema}.delete_run is
    'Soft: a live run is cancelled, the run is hidden from lists, its idempotency key is free.';

-- Ends QUEUED runs that could start, below one of the prefixes, for which no live worker has a handler.
-- At most 1000 in one call; returns them. The handlers of live workers are read once for all workflows. No jit:
-- see plan_prune().
create or replace function {schema}.fail_unhandled(prefixes text[]) returns bigint[]
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    most     constant integer := {rule:max_unhandled};
    handled  text[] := {schema}.live_handlers(now_at);
    failed   bigint[] := '{}';
    part     bigint[];
    workflow record;
begin
    for workflow in
        select q.queue_id, q.name, w.is_flow
        from {schema}.workflows w join {schema}.queues q on q.queue_id = w.workflow_id
        where not q.paused and exists (select from unnest(prefixes) p where starts_with(q.name, p))
          and q.name <> all(handled)
          and (exists (select from {schema}.messages m where m.queue_id = q.queue_id and m.state = 'ready')
               or exists (select from {schema}.messages m
                          where m.queue_id = q.queue_id and m.state <> 'ready' and m.visible_at <= now_at))
    loop
        if workflow.is_flow then
            failed := failed || {schema}.fail_unhandled_flow(
                workflow.queue_id, workflow.name, most - cardinality(failed), now_at);
            continue when cardinality(failed) < most;
            exit;
        end if;
        part := array(
            select m.message_id from {schema}.messages m
            where m.queue_id = workflow.queue_id and m.state = 'ready' and m.delivery = 0
            order by -m.priority, m.message_id limit most - cardinality(failed) for update skip locked
        );
        part := part || array(
            select m.message_id from {schema}.messages m
            where m.queue_id = workflow.queue_id and m.state <> 'ready' and m.visible_at <= now_at
              and m.delivery = 0
            order by m.visible_at limit most - cardinality(failed) - cardinality(part)
            for update skip locked
        );
        -- Looked for again: those before took their time, and what is locked may be of a worker that came then.
        continue when {schema}.has_live_handler(workflow.name);
        part := {schema}.free_to_end(part);
        if cardinality(part) > 0 then
            perform {schema}.fail_runs(
                part, array_fill('{event:no_handler_registered}'::text, array[cardinality(part)]),
                array_fill(format('{text:no_live_handler}', workflow.name),
                           array[cardinality(part)]));
            failed := failed || part;
        end if;
        exit when cardinality(failed) >= most;
    end loop;
    return failed;
end
$$;
comment on function {schema}.fail_unhandled is
    'Fails runs below the prefixes that could start and that no live worker has a handler for.';
