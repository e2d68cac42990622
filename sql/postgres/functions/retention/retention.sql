-- Retention policies: how long rows are kept. retention/prune.sql removes the others.

create or replace function {schema}.retention_scope(kind text) returns text
language sql immutable
as $$
    select case when kind in ('success', 'failed', 'events') then 'workflow'
                when kind in ('archive', 'dead-letters') then 'queue'
                when kind in ('outbox', 'deleted', 'workers') then 'store' end
$$;
comment on function {schema}.retention_scope is
    'Internal: the scope of a policy of that kind: workflow, queue or store.';

-- The queue or workflow of a policy; null means the store, or all of them (`*`). Raises if the name does not fit the
-- kind.
create or replace function {schema}.retention_queue(kind text, name text) returns bigint
language plpgsql stable
as $$
declare
    scope text := {schema}.retention_scope(kind);
    id    bigint;
begin
    if scope is null then
        raise exception 'unknown retention ''%''; use success, failed, events, archive, dead-letters, outbox, '
                        'deleted or workers', kind using errcode = 'PW003';
    elsif scope = 'store' and coalesce(name, '') <> '' then
        raise exception '{text:retention_of_store}', kind
            using errcode = 'PW003';
    elsif scope <> 'store' and coalesce(name, '') = '' then
        raise exception '{text:retention_of_one}', kind, scope using errcode = 'PW003';
    elsif name = '*' then
        return null;
    elsif scope = 'workflow' then
        return ({schema}.workflow_ids(array[name]))[1];
    elsif scope = 'queue' then
        id := {schema}.queue_id(name);
        if exists (select from {schema}.workflows w where w.workflow_id = id) then
            raise exception '{text:no_archive}',
                name using errcode = 'PW009';
        end if;
    end if;
    return id;
end
$$;
comment on function {schema}.retention_queue is
    'Internal: the queue id of a policy; raises if the name does not fit the kind.';

-- Replaces the policy of that kind. Without age and count, rows are kept forever. For a workflow or queue this is
-- stored as an age of 100 years, so that it takes precedence over the policy for all (`*`).
create or replace function {schema}.set_retention(
    kind       text,
    name       text default null,
    keep_ms    bigint default null,
    keep_count bigint default null
) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    id      bigint;
    max_ms  constant bigint := {rule:longest_kept_ms};
    most    constant bigint := {rule:max_kept};
begin
    loop
        id := {schema}.retention_queue(kind, name);
        -- The row lock prevents a concurrent deletion.
        perform from {schema}.queues q where q.queue_id = id for key share;
        exit when found or id is null;
    end loop;
    if keep_ms < 0 or keep_ms > max_ms then
        raise exception '{text:retention_age}', kind using errcode = 'PW003';
    elsif keep_count < 0 or keep_count > most then
        raise exception '{text:retention_count}', kind, most using errcode = 'PW003';
    elsif keep_count is not null and kind in ('events', 'deleted', 'workers') then
        raise exception '{text:retention_by_age}', kind using errcode = 'PW003';
    end if;
    delete from {schema}.retention r
    where coalesce(r.queue_id, 0) = coalesce(id, 0) and r.kind = set_retention.kind;
    if num_nonnulls(keep_ms, keep_count, id) > 0 then
        insert into {schema}.retention (queue_id, kind, keep_ms, keep_count)
        values (
            id, set_retention.kind,
            case when set_retention.keep_count is null then coalesce(set_retention.keep_ms, max_ms)
                 else set_retention.keep_ms end,
            set_retention.keep_count
        )
        on conflict ((coalesce(queue_id, 0)), kind) do update  -- another session inserted it in the meantime
        set keep_ms = excluded.keep_ms, keep_count = excluded.keep_count, bound_at = null, bound_id = null,
            done_at = null, inherited = false;
    end if;
end
$$;
comment on function {schema}.set_retention is
    'Sets how long rows of a kind are kept: by age, by count, or both; neither: forever. Name *: all without their own policy.';

create or replace function {schema}.clear_retention(kind text, name text default null) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
    id bigint := {schema}.retention_queue(clear_retention.kind, clear_retention.name);
begin
    delete from {schema}.retention r
    where coalesce(r.queue_id, 0) = coalesce(id, 0) and r.kind = clear_retention.kind;
end
$$;
comment on function {schema}.clear_retention is 'Removes a policy. The policy for all (*) applies then, if it exists.';

-- Each workflow or queue without its own policy inherits the one for all, as a separate row that stores the progress of
-- pruning. Rows that no longer match are created again.
create or replace function {schema}.inherit_retention() returns void
language sql
as $$
    delete from {schema}.retention r
    where r.inherited and not exists (
        select from {schema}.retention a
        where a.queue_id is null and a.kind = r.kind
          and a.keep_ms is not distinct from r.keep_ms and a.keep_count is not distinct from r.keep_count
    );
    insert into {schema}.retention (queue_id, kind, keep_ms, keep_count, inherited)
    select q.queue_id, a.kind, a.keep_ms, a.keep_count, true
    from {schema}.retention a
    cross join lateral (
        select q.queue_id from {schema}.queues q
        where {schema}.retention_scope(a.kind) = case
            when exists (select from {schema}.workflows w where w.workflow_id = q.queue_id) then 'workflow' else 'queue' end
          and not exists (
              select from {schema}.retention r where coalesce(r.queue_id, 0) = q.queue_id and r.kind = a.kind)
        for key share skip locked
    ) q
    where a.queue_id is null
    on conflict ((coalesce(queue_id, 0)), kind) do nothing;
$$;
comment on function {schema}.inherit_retention is 'Internal: applies the policies for all to each workflow and queue.';

create or replace function {schema}.list_retention() returns table (
    kind text, name text, keep_ms bigint, keep_count bigint
)
language sql stable
as $$
    select r.kind, n.name, nullif(r.keep_ms, {rule:longest_kept_ms}), r.keep_count
    from {schema}.retention r
    left join {schema}.queues q on q.queue_id = r.queue_id
    cross join lateral (
        select coalesce(q.name, case {schema}.retention_scope(r.kind) when 'store' then '' else '*' end) as name
    ) n
    where not r.inherited
    order by n.name, r.kind
$$;
comment on function {schema}.list_retention is
    'Lists the retention policies. Rows without a policy are kept forever. Name *: all without their own policy.';
