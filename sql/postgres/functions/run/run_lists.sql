-- Lists of runs. They read the index runs_group in the order of creation, newest first.

-- The group of a run in the index: 0 QUEUED and RUNNING, 1 PAUSED, 2 SUCCESS, 3 ERROR, 4 CANCELLED.
create or replace function {schema}.run_group(run {schema}.runs) returns integer
language sql immutable
as $$
    select case when run.completed_at is null then case when run.paused_at is null then 0 else 1 end
                when run.error is null then 2 when run.cancelled then 4 else 3 end
$$;
comment on function {schema}.run_group is 'Internal: the group of a run in the index of lists.';

-- Null means any status.
create or replace function {schema}.status_groups(status text) returns integer[]
language sql immutable
as $$
    select case when status is null then '{0,1,2,3,4}'
                when status in ('QUEUED', 'RUNNING') then '{0}'
                when status = 'PAUSED' then '{1}'
                when status = 'SUCCESS' then '{2}'
                when status = 'ERROR' then '{3}'
                when status = 'CANCELLED' then '{4}'
                else '{}' end::integer[]
$$;
comment on function {schema}.status_groups is 'Internal: the groups of the runs of a status.';

-- Whether a run matches a filter; null means no condition. The planner inlines it into the statements below, which are
-- planned for each call (force_custom_plan): it sees the values and removes the conditions that are null.
create or replace function {schema}.run_matches(
    run {schema}.runs, status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean
) returns boolean
language sql stable
as $$
    select (run_matches.status is null or run.status = run_matches.status)
       and (run_matches.created_from is null or run.created_at >= run_matches.created_from)
       and (run_matches.created_before is null or run.created_at < run_matches.created_before)
       and (run_matches.idempotency_key is null or run.idempotency_key = run_matches.idempotency_key)
       and (run_matches.include_deleted or run.deleted_at is null)
$$;
comment on function {schema}.run_matches is 'Internal: whether a run matches a filter.';

-- Runs of code-first workflows that were delivered and have not ended; null if there are more than 10000. They include
-- all RUNNING runs: no index of runs separates these from QUEUED ones, because each claim would have to update it.
create or replace function {schema}.started_runs(workflow_ids bigint[]) returns bigint[]
language plpgsql
as $$
declare
    ids bigint[];
begin
    ids := array(
        select m.message_id
        from unnest(workflow_ids) as u (id)
        cross join lateral (
            select m.message_id from {schema}.messages m
            where m.queue_id = u.id and m.state <> 'ready'
            union all
            select m.message_id from {schema}.messages m
            where m.queue_id = u.id and m.state = 'ready' and m.delivery > 0
        ) m
        limit {schema}.count_limit() + 1
    );
    return case when cardinality(ids) <= {schema}.count_limit() then ids end;
end
$$;
comment on function {schema}.started_runs is
    'Internal: the runs that were delivered and have not ended, if there are at most 10000.';

-- The given runs that match a filter, newest first.
create or replace function {schema}.pick_runs(
    run_ids bigint[], workflow_ids bigint[], status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean, before_at timestamptz, before_run bigint, max_rows integer
) returns bigint[]
language sql stable
as $$
    select array(
        select r.run_id
        from unnest(run_ids) as u (id)
        cross join lateral (
            select r.run_id, r.created_at from {schema}.runs r
            where r.run_id = u.id and r.workflow_id = any(workflow_ids)
              and {schema}.run_matches(r, pick_runs.status, pick_runs.created_from, pick_runs.created_before,
                                       pick_runs.idempotency_key, pick_runs.include_deleted)
              and (before_run is null or (r.created_at, r.run_id) < (before_at, before_run))
            offset 0
        ) r
        order by r.created_at desc, r.run_id desc limit max_rows
    )
$$;
comment on function {schema}.pick_runs is 'Internal: the given runs that match a filter.';

-- The ids of a page. workflow_ids are the workflows of the filter; the last page ended at before_at, before_run.
create or replace function {schema}.run_page(
    workflow_ids bigint[], status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean, before_at timestamptz, before_run bigint, max_rows integer
) returns bigint[]
language plpgsql stable
as $$
declare
    one integer;
    ids bigint[] := '{}';
begin
    if idempotency_key is not null then
        return array(
            select n.run_id
            from unnest(workflow_ids) as u (id)
            cross join lateral (
                (select r.run_id, r.created_at from {schema}.runs r
                 where r.workflow_id = u.id and r.deleted_at is null and r.idempotency_key is not null
                   and {schema}.run_matches(r, run_page.status, run_page.created_from, run_page.created_before,
                                            run_page.idempotency_key, false)
                   and (before_run is null or (r.created_at, r.run_id + 0) < (before_at, before_run)))
                union all
                (select r.run_id, r.created_at from {schema}.runs r
                 where run_page.include_deleted and r.workflow_id = u.id and r.deleted_at is not null
                   and r.idempotency_key is not null
                   and {schema}.run_matches(r, run_page.status, run_page.created_from, run_page.created_before,
                                            run_page.idempotency_key, true)
                   and (before_run is null or (r.created_at, r.run_id + 0) < (before_at, before_run))
                 order by r.created_at desc, r.run_id + 0 desc limit max_rows)
            ) n
            order by n.created_at desc, n.run_id desc limit max_rows
        );
    end if;
    -- The newest runs of each workflow and group are merged.
    foreach one in array {schema}.status_groups(run_page.status) loop
        ids := ids || array(
            select n.run_id
            from unnest(workflow_ids) as u (id)
            cross join lateral (
                select r.run_id, r.created_at from {schema}.runs r
                where {schema}.run_group(r) = one and r.workflow_id = u.id
                  and {schema}.run_matches(r, run_page.status, run_page.created_from, run_page.created_before, null,
                                           run_page.include_deleted)
                  and (before_run is null or (r.created_at, r.run_id + 0) < (before_at, before_run))
                order by r.created_at desc, r.run_id + 0 desc limit max_rows
            ) n
            order by n.created_at desc, n.run_id desc limit max_rows
        );
    end loop;
    if run_page.status is not null then
        return ids;
    end if;
    return {schema}.pick_runs(ids, workflow_ids, null, null, null, null, true, null, null, max_rows);
end
$$;
comment on function {schema}.run_page is 'Internal: the ids of a page of runs.';

-- The ids of a page of RUNNING runs of flows. Their index contains no QUEUED runs.
create or replace function {schema}.running_flows(
    flows bigint[], created_from timestamptz, created_before timestamptz, include_deleted boolean,
    before_at timestamptz, before_run bigint, max_rows integer
) returns bigint[]
language plpgsql stable
as $$
begin
    return array(
        select n.run_id
        from unnest(flows) as u (id)
        cross join lateral (
            select r.run_id, r.created_at from {schema}.runs r
            where r.flow_started and r.completed_at is null and r.workflow_id = u.id
              and {schema}.run_matches(r, 'RUNNING', running_flows.created_from, running_flows.created_before, null,
                                       running_flows.include_deleted)
              and (before_run is null or (r.created_at, r.run_id + 0) < (before_at, before_run))
            order by r.created_at desc, r.run_id + 0 desc limit max_rows
        ) n
        order by n.created_at desc, n.run_id desc limit max_rows
    );
end
$$;
comment on function {schema}.running_flows is 'Internal: the ids of a page of RUNNING runs of flows.';

-- Up to max_rows matching runs, in no order.
create or replace function {schema}.run_set(
    workflow_ids bigint[], status text, created_from timestamptz, created_before timestamptz,
    include_deleted boolean, max_rows integer
) returns bigint[]
language plpgsql stable
as $$
declare
    one integer;
    ids bigint[] := '{}';
begin
    foreach one in array {schema}.status_groups(run_set.status) loop
        ids := ids || array(
            select n.run_id
            from unnest(workflow_ids) as u (id)
            cross join lateral (
                select r.run_id from {schema}.runs r
                where {schema}.run_group(r) = one and r.workflow_id = u.id
                  and {schema}.run_matches(r, run_set.status, run_set.created_from, run_set.created_before, null,
                                           run_set.include_deleted)
                offset 0
            ) n
            limit max_rows - cardinality(ids)
        );
    end loop;
    return ids;
end
$$;
comment on function {schema}.run_set is 'Internal: some of the runs that match a filter.';

-- A page of runs with a tag, in the order of ids. If the page is not full after 10000 runs with the tag, the runs with
-- the status, workflow and time of the filter are searched instead, if there are at most 10000.
create or replace function {schema}.tagged_page(
    tag text, workflow_ids bigint[], status text, created_from timestamptz, created_before timestamptz,
    idempotency_key text, include_deleted boolean, before_run bigint, max_rows integer
) returns bigint[]
language plpgsql stable
as $$
declare
    most    constant integer := {schema}.count_limit();
    behind  constant bigint := coalesce(before_run, 9223372036854775807);
    reading integer := most;
    ids     bigint[];
begin
    loop
        ids := array(
            select r.run_id
            from (
                select t.run_id from {schema}.run_tags t
                where t.tag = tagged_page.tag and t.run_id < behind order by t.run_id desc limit reading
            ) t
            cross join lateral (
                select r.run_id from {schema}.runs r
                where r.run_id = t.run_id and r.workflow_id = any(workflow_ids)
                  and {schema}.run_matches(
                      r, tagged_page.status, tagged_page.created_from, tagged_page.created_before,
                      tagged_page.idempotency_key, tagged_page.include_deleted)
                offset 0
            ) r
            limit max_rows
        );
        if cardinality(ids) = max_rows or reading is null
           or not exists (select from {schema}.run_tags t
                          where t.tag = tagged_page.tag and t.run_id < behind offset most limit 1) then
            return ids;
        end if;
        ids := {schema}.run_set(
            workflow_ids, tagged_page.status, tagged_page.created_from, tagged_page.created_before,
            tagged_page.include_deleted, most + 1);
        if cardinality(ids) <= most then
            return array(
                select r.run_id
                from (select u.id from unnest(ids) as u (id) where u.id < behind order by u.id desc) u
                cross join lateral (
                    select r.run_id from {schema}.run_tags t join {schema}.runs r using (run_id)
                    where t.tag = tagged_page.tag and t.run_id = u.id
                      and (tagged_page.idempotency_key is null or r.idempotency_key = tagged_page.idempotency_key)
                    offset 0
                ) r
                limit max_rows
            );
        end if;
        reading := null;  -- no limit
    end loop;
end
$$;
comment on function {schema}.tagged_page is 'Internal: the ids of a page of runs with a tag.';

-- Stable: all its statements use one snapshot, so that only the last page is short even if runs are pruned
-- concurrently.
create or replace function {schema}.find_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false,
    before_run      bigint default null,
    max_rows        integer default {rule:default_page_rows}
) returns bigint[]
language plpgsql stable
as $$
declare
    wanted    bigint[];
    flows     bigint[];
    others    bigint[];
    started   bigint[];
    before_at timestamptz;
    ids       bigint[];
begin
    perform {schema}.page_size(max_rows);
    perform {schema}.check_range('before_run', before_run, 0, 9223372036854775807);
    select array_agg(w.workflow_id), array_agg(w.workflow_id) filter (where w.is_flow) into wanted, flows
    from {schema}.workflows w join {schema}.queues q on q.queue_id = w.workflow_id
    where find_runs.workflow is null or q.name = find_runs.workflow;
    if before_run is not null then
        -- If the run was pruned, the time of the run before it.
        select r.created_at into before_at from {schema}.runs r
        where r.run_id <= find_runs.before_run order by r.run_id desc limit 1;
        before_at := coalesce(before_at, '-infinity');
    end if;
    if tag is not null then
        ids := {schema}.tagged_page(
            find_runs.tag, wanted, find_runs.status, find_runs.created_from, find_runs.created_before,
            find_runs.idempotency_key, find_runs.include_deleted, find_runs.before_run, find_runs.max_rows);
    elsif status = 'RUNNING' and idempotency_key is null then
        others := array(select unnest(wanted) except select unnest(flows));
        started := {schema}.started_runs(others);
        if started is not null then
            ids := {schema}.pick_runs(
                started, others, find_runs.status, find_runs.created_from, find_runs.created_before,
                null, find_runs.include_deleted, before_at, find_runs.before_run, find_runs.max_rows);
        else
            ids := {schema}.run_page(
                others, find_runs.status, find_runs.created_from, find_runs.created_before,
                null, find_runs.include_deleted, before_at, find_runs.before_run, find_runs.max_rows);
        end if;
        ids := ids || {schema}.running_flows(
            flows, find_runs.created_from, find_runs.created_before, find_runs.include_deleted, before_at,
            find_runs.before_run, find_runs.max_rows);
        -- Two pages are merged; in the other cases the ids are already in order.
        ids := {schema}.pick_runs(ids, wanted, null, null, null, null, true, null, null, max_rows);
    elsif num_nonnulls(workflow, status, created_from, created_before, idempotency_key) = 0 then
        ids := array(
            select r.run_id from {schema}.runs r
            where (find_runs.include_deleted or r.deleted_at is null)
              and (find_runs.before_run is null or r.run_id < find_runs.before_run)
            order by r.run_id desc limit find_runs.max_rows
        );
    else
        ids := {schema}.run_page(
            wanted, find_runs.status, find_runs.created_from, find_runs.created_before,
            find_runs.idempotency_key, find_runs.include_deleted, before_at, find_runs.before_run,
            find_runs.max_rows);
    end if;
    return ids;
end
$$;
comment on function {schema}.find_runs is 'The ids of the runs that list_runs lists, newest first.';

create or replace function {schema}.list_runs(
    workflow        text default null,
    status          text default null,
    created_from    timestamptz default null,
    created_before  timestamptz default null,
    tag             text default null,
    idempotency_key text default null,
    include_deleted boolean default false,
    before_run      bigint default null,
    max_rows        integer default {rule:default_page_rows}
) returns setof {schema}.run_info
language plpgsql stable
as $$
declare
    ids bigint[] := {schema}.find_runs(
        workflow, status, created_from, created_before, tag, idempotency_key, include_deleted, before_run, max_rows);
begin
    return query
    select i.* from unnest(ids) with ordinality as u (id, place) join {schema}.run_info i on i.run_id = u.id
    order by u.place;
end
$$;
comment on function {schema}.list_runs is
    'Lists the runs that match all given conditions, newest first. Pass the last id as before_run for the next page.';
