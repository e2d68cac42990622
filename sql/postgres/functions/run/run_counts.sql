-- Counts of runs. They find their rows in the same way as lists: run/run_lists.sql.

-- Counts per status, up to count_limit; `exact` is false if there are or may be more. QUEUED and RUNNING runs share an
-- index: twice count_limit of them are read. For a tag, twice count_limit runs are read too.
create or replace function {schema}.run_counts(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false,
    count_limit     integer default {rule:count_limit}
) returns table (run_status text, runs bigint, exact boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
    wanted  bigint[];
    flows   bigint[];
    started bigint[];
    ids     bigint[];
    whole   boolean;
    found   bigint;
    one     text;
begin
    perform {schema}.check_range('count_limit', run_counts.count_limit, 0, {rule:max_count_limit});
    run_counts.count_limit := coalesce(run_counts.count_limit, {rule:max_count_limit});
    select array_agg(w.workflow_id), array_agg(w.workflow_id) filter (where w.is_flow) into wanted, flows
    from {schema}.workflows w join {schema}.queues q on q.queue_id = w.workflow_id
    where run_counts.workflow is null or q.name = run_counts.workflow;
    if tag is not null then
        ids := array(select t.run_id from {schema}.run_tags t
                     where t.tag = run_counts.tag order by t.run_id desc limit 2 * run_counts.count_limit + 1);
        whole := cardinality(ids) <= 2 * run_counts.count_limit;
        if not whole and run_counts.status is not null then
            ids := {schema}.run_set(
                wanted, run_counts.status, run_counts.created_from, run_counts.created_before,
                run_counts.include_deleted, run_counts.count_limit + 1);
            whole := cardinality(ids) <= run_counts.count_limit;
        end if;
        ids := array(select t.run_id from unnest(ids) as u (id) cross join lateral (
                         select t.run_id from {schema}.run_tags t
                         where t.tag = run_counts.tag and t.run_id = u.id offset 0) t);
    elsif idempotency_key is not null then
        ids := {schema}.run_page(
            wanted, run_counts.status, run_counts.created_from, run_counts.created_before,
            run_counts.idempotency_key, run_counts.include_deleted, null, null, 2 * run_counts.count_limit + 1);
        whole := cardinality(ids) <= 2 * run_counts.count_limit;
    end if;
    if ids is not null then
        ids := {schema}.pick_runs(
            ids, wanted, run_counts.status, run_counts.created_from, run_counts.created_before,
            run_counts.idempotency_key, run_counts.include_deleted, null, null, null);
        return query
        select r.status, least(count(*), run_counts.count_limit), whole and count(*) <= run_counts.count_limit
        from unnest(ids) as u (id) join {schema}.runs r on r.run_id = u.id group by r.status;
        return;
    end if;
    foreach one in array case when run_counts.status is null then array['PAUSED', 'SUCCESS', 'ERROR', 'CANCELLED']
                              when run_counts.status in ('QUEUED', 'RUNNING') then '{}'
                              else array[run_counts.status] end loop
        found := cardinality({schema}.run_set(
            wanted, one, run_counts.created_from, run_counts.created_before, run_counts.include_deleted,
            run_counts.count_limit + 1));
        if found > 0 then
            return query
            select one, least(found, run_counts.count_limit), found <= run_counts.count_limit;
        end if;
    end loop;
    if coalesce(run_counts.status, 'QUEUED') in ('QUEUED', 'RUNNING') then
        return query select * from {schema}.live_run_counts(
            wanted, flows, run_counts.status, run_counts.created_from, run_counts.created_before,
            run_counts.include_deleted, run_counts.count_limit);
    end if;
end
$$;
comment on function {schema}.run_counts is
    'Counts the matching runs per status, up to count_limit; exact is false if the count is a lower bound.';

create or replace function {schema}.live_run_counts(
    workflow_ids bigint[], flows bigint[], status text, created_from timestamptz, created_before timestamptz,
    include_deleted boolean, count_limit integer
) returns table (run_status text, runs bigint, exact boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
    most    constant integer := live_run_counts.count_limit;
    started bigint[];
    sample  record;
    running bigint;
    whole   boolean;
begin
    select count(*) as rows, count(*) filter (where n.status = 'QUEUED') as queued,
           count(*) filter (where n.status = 'RUNNING') as running
    into sample
    from (
        select n.status
        from unnest(workflow_ids) as u (id)
        cross join lateral (
            select r.status from {schema}.runs r
            where {schema}.run_group(r) = 0 and r.workflow_id = u.id
              and {schema}.run_matches(r, null, live_run_counts.created_from, live_run_counts.created_before, null,
                                       live_run_counts.include_deleted)
            order by r.created_at desc, r.run_id + 0 desc
        ) n
        limit 2 * most + 1
    ) n;
    whole := sample.rows <= 2 * most;
    running := sample.running;
    if not whole and live_run_counts.status is distinct from 'QUEUED' then
        started := {schema}.started_runs(array(select unnest(workflow_ids) except select unnest(flows)));
        if started is not null then
            running := cardinality({schema}.pick_runs(
                started, workflow_ids, 'RUNNING', live_run_counts.created_from, live_run_counts.created_before, null,
                live_run_counts.include_deleted, null, null, null));
            running := running + cardinality({schema}.running_flows(
                flows, live_run_counts.created_from, live_run_counts.created_before,
                live_run_counts.include_deleted, null, null, most + 1));
        end if;
    end if;
    return query
    select l.status, least(l.runs, most), l.whole and l.runs <= most
    from (values ('QUEUED', sample.queued, whole), ('RUNNING', running, whole or started is not null))
        as l (status, runs, whole)
    where (live_run_counts.status is null or l.status = live_run_counts.status) and (l.runs > 0 or not l.whole);
end
$$;
comment on function {schema}.live_run_counts is 'Internal: bounded counts of QUEUED and RUNNING runs.';

create or replace function {schema}.count_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false
) returns table (run_status text, runs bigint)
language plpgsql
as $$
declare
    wanted bigint := coalesce((select q.queue_id from {schema}.queues q where q.name = count_runs.workflow), 0);
begin
    if tag is null then
        return query
        select r.status, count(*) from {schema}.runs r
        where (count_runs.workflow is null or r.workflow_id = wanted)
          and {schema}.run_matches(
              r, count_runs.status, created_from, created_before, count_runs.idempotency_key, include_deleted)
        group by r.status;
    else
        return query
        select r.status, count(*) from {schema}.run_tags t join {schema}.runs r using (run_id)
        where t.tag = count_runs.tag and (count_runs.workflow is null or r.workflow_id = wanted)
          and {schema}.run_matches(
              r, count_runs.status, created_from, created_before, count_runs.idempotency_key, include_deleted)
        group by r.status;
    end if;
end
$$;
comment on function {schema}.count_runs is
    'Like run_counts(), but with exact counts. Reads all matching runs, so it can be slow.';
