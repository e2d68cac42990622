-- Pruning removes the rows that no policy of retention/retention.sql keeps, oldest first, in small batches.
--
-- A batch is one short transaction over a bounded number of rows that are adjacent in an index. It takes the
-- position where the last one ended, so no row is read twice, and rows that stay cost one lookup per pass. No state
-- between batches can be lost in a crash: the next pass finds the remaining rows.
--
-- It does not wait for locks (functions/README.md): rows that another session has locked are left for the next pass.

-- Computes the bounds of the policies by count and returns all policies in the order of a pass: events before the runs
-- to which they belong, so that a dry run counts the same rows.
-- A disabled plan node that is needed anyway has such a high cost that the server would JIT-compile the query for half
-- a second, so jit is off.
create or replace function {schema}.plan_prune() returns table (kind text, queue_id bigint, name text)
language plpgsql
as $$
#variable_conflict use_column
begin
    perform {schema}.inherit_retention();
    update {schema}.retention p
    set (bound_at, bound_id) = (
        select b.at, b.id
        from (
            (select r.completed_at as at, r.run_id as id from {schema}.runs r
             where p.kind = 'success' and r.workflow_id = p.queue_id
               and r.completed_at is not null and r.error is null and r.deleted_at is null
             order by r.completed_at desc, r.run_id desc offset p.keep_count limit 1)
            union all
            (select r.completed_at, r.run_id from {schema}.runs r
             where p.kind = 'failed' and r.workflow_id = p.queue_id
               and r.completed_at is not null and r.error is not null and r.deleted_at is null
             order by r.completed_at desc, r.run_id desc offset p.keep_count limit 1)
            union all
            (select a.archived_at, a.message_id from {schema}.archive a
             where p.kind = 'archive' and a.queue_id = p.queue_id and not a.dead
             order by a.archived_at desc, a.message_id desc offset p.keep_count limit 1)
            union all
            (select a.archived_at, a.message_id from {schema}.archive a
             where p.kind = 'dead-letters' and a.queue_id = p.queue_id and a.dead
             order by a.archived_at desc, a.message_id desc offset p.keep_count limit 1)
            union all
            (select o.published_at, o.outbox_id from {schema}.outbox o
             where p.kind = 'outbox' and o.status = 'PUBLISHED'
             order by o.published_at desc, o.outbox_id desc offset p.keep_count limit 1)
        ) b
    )
    where p.keep_count is not null and (p.queue_id is not null or p.kind = 'outbox');
    return query
    select p.kind, coalesce(p.queue_id, 0), coalesce(q.name, '')
    from {schema}.retention p
    left join {schema}.queues q on q.queue_id = p.queue_id
    where p.queue_id is not null or {schema}.retention_scope(p.kind) = 'store'
    order by p.kind <> 'events', p.retention_id;
end
$$;
comment on function {schema}.plan_prune is
    'Begins a pass: computes the bounds of policies by count, and returns the parts for which prune_batch is to be called.';

-- The runs that may be removed. Excluded are live runs, and runs that a live run still needs: those that it has called,
-- and those that it has started and would start again under their key.
create or replace function {schema}.prunable_runs(run_ids bigint[], soft_deleted boolean) returns setof bigint
language plpgsql
as $$
begin
    return query
    select r.run_id from {schema}.runs r
    where r.run_id = any(run_ids) and r.completed_at is not null
      and (r.deleted_at is not null) = soft_deleted
      and not exists (select from {schema}.runs p where p.run_id = r.parent_run_id and p.completed_at is null)
      and not exists (select from {schema}.calls c where c.run_id = r.run_id);
end
$$;
comment on function {schema}.prunable_runs is 'Internal: the runs that retention may remove.';

-- Also removes their steps, tasks, tags, signals and events. Their events in the outbox have their own policy and stay.
create or replace function {schema}.remove_runs(run_ids bigint[]) returns bigint
language plpgsql
as $$
declare
    gone bigint[];
begin
    gone := array(
        select r.run_id from {schema}.runs r
        where r.run_id = any(run_ids)
          and {schema}.try_share_queue(r.workflow_id)
        for update skip locked
    );
    delete from {schema}.steps s where s.run_id = any(gone);
    delete from {schema}.tasks t where t.run_id = any(gone);
    delete from {schema}.run_tags t where t.run_id = any(gone);
    delete from {schema}.signals s where s.run_id = any(gone);
    delete from {schema}.events e where e.run_id = any(gone);
    delete from {schema}.calls c where c.caller_run_id = any(gone);
    delete from {schema}.awaited_runs a where a.run_id = any(gone);
    delete from {schema}.runs r where r.run_id = any(gone);
    return coalesce(cardinality(gone), 0);
end
$$;
comment on function {schema}.remove_runs is
    'Internal: removes ended runs, except those that another session has locked.';

-- The next rows of a kind between two positions, in the order of time and id.
create or replace function {schema}.prune_candidates(
    kind text, queue_id bigint, after_at timestamptz, after_id bigint, bound_at timestamptz, bound_id bigint,
    max_rows integer
) returns table (at timestamptz, id bigint)
language plpgsql
as $$
#variable_conflict use_variable
begin
    if kind = 'success' then
        return query
        select r.completed_at, r.run_id from {schema}.runs r
        where r.workflow_id = queue_id and r.completed_at is not null and r.error is null
          and (r.completed_at, r.run_id) > (after_at, after_id)
          and (r.completed_at, r.run_id) <= (bound_at, bound_id)
        order by r.completed_at, r.run_id limit max_rows;
    elsif kind = 'failed' then
        return query
        select r.completed_at, r.run_id from {schema}.runs r
        where r.workflow_id = queue_id and r.completed_at is not null and r.error is not null
          and (r.completed_at, r.run_id) > (after_at, after_id)
          and (r.completed_at, r.run_id) <= (bound_at, bound_id)
        order by r.completed_at, r.run_id limit max_rows;
    elsif kind = 'deleted' then
        return query
        select r.deleted_at, r.run_id from {schema}.runs r
        where r.deleted_at is not null and (r.deleted_at, r.run_id) > (after_at, after_id)
          and (r.deleted_at, r.run_id) <= (bound_at, bound_id)
        order by r.deleted_at, r.run_id limit max_rows;
    elsif kind = 'events' then
        return query
        select c.at, c.id
        from (
            select * from {schema}.prune_candidates(
                'success', queue_id, after_at, after_id, bound_at, bound_id, max_rows)
            union all
            select * from {schema}.prune_candidates(
                'failed', queue_id, after_at, after_id, bound_at, bound_id, max_rows)
        ) c (at, id)
        order by c.at, c.id limit max_rows;
    elsif kind = 'archive' then
        return query
        select a.archived_at, a.message_id from {schema}.archive a
        where a.queue_id = queue_id and not a.dead
          and (a.archived_at, a.message_id) > (after_at, after_id)
          and (a.archived_at, a.message_id) <= (bound_at, bound_id)
        order by a.archived_at, a.message_id limit max_rows;
    elsif kind = 'dead-letters' then
        return query
        select a.archived_at, a.message_id from {schema}.archive a
        where a.queue_id = queue_id and a.dead
          and (a.archived_at, a.message_id) > (after_at, after_id)
          and (a.archived_at, a.message_id) <= (bound_at, bound_id)
        order by a.archived_at, a.message_id limit max_rows;
    elsif kind = 'outbox' then
        return query
        select o.published_at, o.outbox_id from {schema}.outbox o
        where o.status = 'PUBLISHED' and (o.published_at, o.outbox_id) > (after_at, after_id)
          and (o.published_at, o.outbox_id) <= (bound_at, bound_id)
        order by o.published_at, o.outbox_id limit max_rows;
    elsif kind = 'workers' then
        return query
        select w.heartbeat_at, w.worker_id from {schema}.workers w
        where (w.status = 'STOPPED' or w.heartbeat_at + {schema}.ms(w.lease_ms) < {schema}.clock())
          and (w.heartbeat_at, w.worker_id) > (after_at, after_id)
          and (w.heartbeat_at, w.worker_id) <= (bound_at, bound_id)
        order by w.heartbeat_at, w.worker_id limit max_rows;
    end if;
end
$$;
comment on function {schema}.prune_candidates is 'Internal: the next rows that a policy does not keep.';

-- Returns how many rows were removed or counted.
create or replace function {schema}.prune_rows(kind text, ids bigint[], dry_run boolean) returns bigint
language plpgsql
as $$
declare
    runs   bigint[];
    pruned bigint;
begin
    if kind in ('success', 'failed', 'deleted') then
        runs := array(select {schema}.prunable_runs(ids, kind = 'deleted'));
        return case when dry_run then cardinality(runs) else {schema}.remove_runs(runs) end;
    elsif kind = 'events' and dry_run then
        return (select count(*) from {schema}.events e where e.run_id = any(ids));
    elsif dry_run then
        return cardinality(ids);
    elsif kind = 'events' then
        delete from {schema}.events e where e.run_id = any(ids);
    elsif kind in ('archive', 'dead-letters') then
        delete from {schema}.archive a
        where a.message_id = any(array(
            select l.message_id from {schema}.archive l where l.message_id = any(ids) for update skip locked));
    elsif kind = 'outbox' then
        delete from {schema}.outbox o
        where o.outbox_id = any(array(
            select l.outbox_id from {schema}.outbox l where l.outbox_id = any(ids) for update skip locked));
    else
        delete from {schema}.workers w
        where w.worker_id = any(array(
            select l.worker_id from {schema}.workers l where l.worker_id = any(ids) for update skip locked));
    end if;
    get diagnostics pruned = row_count;
    return pruned;
end
$$;
comment on function {schema}.prune_rows is 'Internal: removes or counts rows of a kind.';

-- `looked` is the number of rows that were checked. If it is less than max_rows, this policy is done; otherwise the
-- next batch continues after (last_at, last_id). If the policy was removed in the meantime, nothing is pruned.
create or replace function {schema}.prune_batch(
    kind     text,
    queue_id bigint,
    after_at timestamptz default null,
    after_id bigint default null,
    max_rows integer default {rule:default_prune_rows},
    dry_run  boolean default false,
    out looked integer, out pruned bigint, out last_at timestamptz, out last_id bigint
)
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    most     constant bigint := 9223372036854775807;
    p        {schema}.retention;
    until_at timestamptz;
    until_id bigint := most;
    next     record;
begin
    perform {schema}.page_size(max_rows);
    dry_run := coalesce(dry_run, false);
    looked := 0;
    pruned := 0;
    select r.* into p from {schema}.retention r
    where coalesce(r.queue_id, 0) = coalesce(prune_batch.queue_id, 0) and r.kind = prune_batch.kind;
    if not found then
        return;
    end if;
    until_at := now_at - {schema}.ms(p.keep_ms);
    if until_at is null or p.bound_at > until_at then
        until_at := p.bound_at;
        until_id := p.bound_id;
    end if;
    -- The events of runs that were checked before are gone. The last hour is checked again, because a run may be
    -- committed a little later than its time.
    if after_at is null then
        after_at := coalesce(p.done_at, '-infinity');
        after_id := most;
    end if;
    select count(*) as count, array_agg(c.id) as ids, max(c.at) as last_at into next
    from {schema}.prune_candidates(
        prune_batch.kind, p.queue_id, after_at, after_id, until_at, until_id, max_rows) c;
    looked := next.count;
    if looked > 0 then
        pruned := {schema}.prune_rows(prune_batch.kind, next.ids, dry_run);
        last_at := next.last_at;
        last_id := next.ids[cardinality(next.ids)];
    end if;
    if prune_batch.kind = 'events' and not dry_run then
        update {schema}.retention r
        set done_at = least(
            now_at - interval '{rule:prune_recheck_ms} milliseconds',
            -- Other rows with the same time may still be committed.
            case when looked < max_rows then until_at else last_at - interval '1 microsecond' end)
        where r.retention_id = p.retention_id;
    end if;
end
$$;
comment on function {schema}.prune_batch is
    'Removes the next rows that a policy does not keep, in one short transaction; with dry_run it only counts them.';

-- A pass begins at most once per interval among all callers. With `again`, the caller that runs the pass continues it.
create or replace function {schema}.claim_prune(
    interval_ms bigint, again boolean default false, out granted boolean, out wait_ms bigint
)
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    due    timestamptz;
begin
    perform {schema}.check_given('interval_ms', interval_ms is null);
    perform {schema}.check_range('interval_ms', interval_ms, 0, {schema}.longest_ms());
    -- The bound keeps a caller from blocking pruning for a longer time.
    interval_ms := least(interval_ms, {rule:longest_prune_interval_ms});
    again := coalesce(again, false);
    select t.due_at into due from {schema}.prune_turn t;
    granted := again or due <= now_at;
    if granted then
        update {schema}.prune_turn t set due_at = now_at + {schema}.ms(interval_ms)
        where again or t.due_at <= now_at;
        granted := found;
    end if;
    wait_ms := case when granted then 0
                    else least(interval_ms, ceil(extract(epoch from due - now_at) * 1000)) end;
end
$$;
comment on function {schema}.claim_prune is
    'Whether a pass of pruning may begin: once per interval among all workers. With again, the current owner continues.';

-- For pruning by a timer of the database (pg_cron): a whole pass in one call, up to max_rows. For each policy it checks
-- up to ten times as many rows, because some may have to stay for a while. Each call starts at the oldest row: if all
-- rows that it checks for a policy must stay, another call would not get further.
create or replace function {schema}.prune(max_rows integer default 5000, out pruned bigint, out more boolean)
language plpgsql
as $$
#variable_conflict use_variable
declare
    part     record;
    batch    record;
    after_at timestamptz;
    after_id bigint;
    rows     integer;
    looked   bigint;
    before   bigint;
begin
    perform {schema}.check_range('max_rows', max_rows, 1, 1000000);
    pruned := 0;
    more := false;
    for part in select p.kind, p.queue_id from {schema}.plan_prune() p loop
        after_at := null;
        after_id := null;
        looked := 0;
        before := pruned;
        loop
            if pruned >= max_rows then
                more := true;
                return;
            elsif looked >= 10 * max_rows::bigint then
                more := more or pruned > before;
                exit;
            end if;
            rows := least({rule:default_prune_rows}, max_rows - pruned);
            batch := {schema}.prune_batch(part.kind, part.queue_id, after_at, after_id, rows);
            pruned := pruned + batch.pruned;
            looked := looked + batch.looked;
            exit when batch.looked < rows;
            after_at := batch.last_at;
            after_id := batch.last_id;
        end loop;
    end loop;
end
$$;
comment on function {schema}.prune is
    'Removes the rows that no policy keeps, up to max_rows, in one transaction. If more is true, call it again.';
