-- Operations of users on runs. They first lock the run's message and wait for that lock: a batch of a worker holds it
-- only for a moment, and the writes of the worker and the user are serialized.

-- A run of a flow has no message: waits for the lock of the run's row.
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
comment on function {schema}.wait_for_run is 'Internal: locks a run and its callers, waiting for the locks.';

-- Reads the run behind its lock. Raises for unknown and soft-deleted runs.
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
comment on function {schema}.lock_run is 'Internal: locks a run and returns its state.';

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
comment on function {schema}.lock_live_run is 'Internal: like lock_run(), and raises if the run has ended.';

-- No-op if the workflow keeps no events.
create or replace function {schema}.add_event(
    run_id bigint, audited boolean, kind text, data text, delivery integer, at timestamptz
) returns void
language sql
as $$
    insert into {schema}.events (run_id, kind, data, delivery, at)
    select add_event.run_id, add_event.kind, add_event.data, add_event.delivery, add_event.at
    where audited
$$;
comment on function {schema}.add_event is 'Internal: adds an event if the workflow keeps them.';

-- A message that has strikes stays a due row, so that ready rows never have strikes.
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
comment on function {schema}.make_visible is 'Internal: makes a waiting run claimable now.';

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

-- Notifies the waiters of the run and its worker.
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
    'Ends a live run as CANCELLED. Nothing more is recorded for it, and its worker is notified.';

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
comment on function {schema}.wake is 'Makes a waiting run claimable now. No effect on a run that is ready or leased.';

-- Waits until no session holds a queue exclusively, and keeps no lock: the subtransaction that took it is rolled back.
-- The SQLSTATE RB001 never leaves these two functions.
create or replace function {schema}.wait_for_queue(queue_id bigint) returns void
language plpgsql
as $$
begin
    perform {schema}.share_queues(array[queue_id]);
    raise exception using errcode = 'RB001';
exception when sqlstate 'RB001' then
    null;
end
$$;
comment on function {schema}.wait_for_queue is 'Internal: waits until a queue is not locked exclusively.';

-- lock_run() for a run that is to be copied; also holds its workflow's queue shared. A deletion of the workflow holds
-- that queue and waits for the run or, with force, the other way round. So the queue is only tried while the run is
-- locked; if it is not free, the run is unlocked before we wait for the queue.
create or replace function {schema}.lock_origin(
    run_id bigint,
    out status text, out workflow_id bigint, out audited boolean, out delivery integer
)
language plpgsql
as $$
#variable_conflict use_variable
begin
    loop
        begin
            select l.status, l.workflow_id, l.audited, l.delivery into status, workflow_id, audited, delivery
            from {schema}.lock_run(run_id) l;
            if {schema}.try_share_queue(workflow_id) then
                return;
            end if;
            raise exception using errcode = 'RB001';  -- unlocks the run
        exception when sqlstate 'RB001' then
            null;
        end;
        perform {schema}.wait_for_queue(workflow_id);
    end loop;
end
$$;
comment on function {schema}.lock_origin is
    'Internal: locks a run and its workflow''s queue, and returns the state of the run.';

-- Creates a run with the same workflow, input, priority, tags, parent and finished steps; before_position restricts it
-- to the steps before that position. The caller has locked both with lock_origin().
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
    perform from {schema}.runs r where r.run_id = origin for key share;  -- prevents pruning
    insert into {schema}.messages (queue_id, priority, state, visible_at, enqueued_at, payload)
    select r.workflow_id, r.priority, 'ready', copy_run.at, copy_run.at, 'null'
    from {schema}.runs r where r.run_id = origin
    returning message_id into made;
    if made is null then  -- it was pruned in the meantime
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
comment on function {schema}.copy_run is 'Internal: creates a run with the finished steps of another run.';

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
    'Creates a run from a failed or cancelled one and copies its finished steps; returns the id of the new run.';

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
    'Creates a run from any run and copies only the finished steps before from_step; returns the id of the new run.';

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
    if not found then  -- another session was faster
        perform {schema}.lock_run(run_id);
    end if;
    perform {schema}.add_event(
        run_id, run.audited, '{event:deleted}',
        {schema}.with_actor(format('{"reason":%s}', to_json(coalesce(reason, '')))), run.delivery, now_at);
    perform {schema}.notify_run(run_id);
end
$$;
comment on function {schema}.delete_run is
    'Soft-deletes a run: cancels it if it is live, hides it from lists, and frees its idempotency key.';

-- Fails QUEUED runs below one of the prefixes that could start, if no live worker has a handler. At most 1000 per call;
-- returns them. The handlers of live workers are read once for all workflows. No jit: see plan_prune().
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
        -- Check again: a worker with the handler may have registered in the meantime, and may hold the locks that were
        -- skipped.
        continue when {schema}.has_live_handler(workflow.name);
        part := {schema}.lock_endable_runs(part);
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
    'Fails runs of workflows below the prefixes that could start but have no live worker with a handler.';
