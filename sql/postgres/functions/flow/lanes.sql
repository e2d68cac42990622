-- Workers that claim only some steps of a flow.
--
-- In the flow's queue the tasks of all steps are in one order, so a claim of some steps would skip the tasks of the
-- other steps each time. Lanes avoid that: messages.lane is the index of the step, and two partial indexes have the
-- rows of each lane in order. They cost two more index entries per task, so a flow gets lanes only with the first claim
-- that names steps:
--
--   off -> opening   workflows.lanes is set, and the existing messages get their lane.
--   opening -> open  Transactions that did not see the flag may still add messages without a lane. Their ids are
--                    smaller than that of the first transaction that saw the flag committed (lanes_barrier). When all
--                    transactions up to that one have ended, their messages get their lane too. Until then a claim of
--                    steps may miss them; claims of the whole flow do not.
--
-- A transaction with an old snapshot (repeatable read) cannot see the flag, so it always sets the lane of its messages.

create or replace function {schema}.fill_lanes(flow bigint) returns void
language sql
as $$
    update {schema}.messages m set lane = m.step_index
    where m.message_id = any(array(
        select x.message_id from {schema}.messages x
        where x.queue_id = flow and x.run_id is not null and x.lane is null
        order by x.message_id for update skip locked
    ))
$$;
comment on function {schema}.fill_lanes is 'Internal: sets the lanes of the waiting tasks of a flow.';

create or replace function {schema}.open_lanes(flow bigint) returns void
language plpgsql
as $$
declare
    stored record;
begin
    select w.lanes, w.lanes_barrier into stored from {schema}.workflows w where w.workflow_id = flow;
    if stored.lanes = 'open' then
        return;
    elsif stored.lanes = 'off' then
        update {schema}.workflows w set lanes = 'opening' where w.workflow_id = flow and w.lanes = 'off';
        if found then
            perform {schema}.fill_lanes(flow);
        end if;
    elsif stored.lanes_barrier is null then
        update {schema}.workflows w set lanes_barrier = pg_current_xact_id()
        where w.workflow_id = flow and w.lanes_barrier is null;
    elsif pg_snapshot_xmin(pg_current_snapshot()) > stored.lanes_barrier then
        perform {schema}.fill_lanes(flow);
        update {schema}.workflows w set lanes = 'open'
        where w.workflow_id = flow and w.lanes = 'opening' and not exists (
            select from {schema}.messages m where m.queue_id = flow and m.run_id is not null and m.lane is null
        );
    end if;
end
$$;
comment on function {schema}.open_lanes is 'Internal: makes the tasks of a flow claimable by step.';

-- claim() for some lanes of one flow: up to `qty` ready rows and `qty` due rows of each lane.
create or replace function {schema}.claim_lanes(
    flow bigint, lanes integer[], qty integer, lease_ms bigint, worker_id bigint, default_lease_ms bigint
) returns table (
    message_id bigint, queue_id bigint, priority integer, delivery integer, strikes integer,
    attempts integer, enqueued_at timestamptz, visible_at timestamptz, last_error text,
    now_at timestamptz, next_due timestamptz, more boolean, notes text
)
language plpgsql
as $$
#variable_conflict use_column
declare
    at     timestamptz := {schema}.clock();
    queue  record;
    due    record;
    picked tid[];
    got    integer := 0;
    since  timestamptz;
    buried boolean := false;
    told   text;  -- the payload of the last row, as in claim()
begin
    select q.lease_ms, q.max_strikes into queue from {schema}.queues q where q.queue_id = flow and not q.paused;
    if found then
        select array_agg(d.tid) filter (where d.good) as tids, array_agg(d.message_id) filter (where d.good) as ids,
               array_agg(d.priority) filter (where d.good) as priorities,
               array_agg(d.message_id) filter (where d.poison) as poison,
               array_agg(format('poison: {text:unreported}', d.strikes))
                   filter (where d.poison) as reasons,
               (array_agg(d.tid order by d.message_id) filter (where not d.good and not d.poison))[1] as suspect,
               array_agg(d.message_id) filter (where d.state = 'leased' and not d.poison) as lost,
               array_agg(d.delivery) filter (where d.state = 'leased' and not d.poison) as lost_deliveries,
               array_agg(d.worker_id) filter (where d.state = 'leased' and not d.poison) as lost_workers
        into due
        from (
            select x.*, x.strikes < least({rule:suspect_strikes}, queue.max_strikes) as good,
                   x.strikes >= queue.max_strikes and x.worker_id is not null as poison
            from unnest(lanes) as l (lane)
            cross join lateral (
                select m.ctid as tid, m.message_id, m.priority, m.delivery, m.state, m.worker_id, m.strikes
                from {schema}.messages m
                where m.queue_id = flow and m.lane = l.lane and m.state <> 'ready' and m.visible_at <= at
                order by m.visible_at limit qty for update skip locked
            ) x
        ) d;
        if due.poison is not null then
            perform {schema}.bury_locked(due.poison, due.reasons);
            buried := true;
        end if;
        if coalesce(due.lost, due.poison) is not null then
            told := json_build_object(
                'lost', due.lost, 'workers', due.lost_workers, 'poison', due.poison,
                'queues', array_fill(flow, array[coalesce(cardinality(due.poison), 0)]), 'reasons', due.reasons);
        end if;
        -- A suspect is delivered alone, as in claim().
        picked := case when due.suspect is not null then array[due.suspect] else array(
            select c.tid
            from (
                select u.tid, u.priority, u.message_id
                from unnest(due.tids, due.priorities, due.ids) as u (tid, priority, message_id)
                union all
                select r.tid, r.priority, r.message_id
                from unnest(lanes) as l (lane)
                cross join lateral (
                    select m.ctid as tid, m.priority, m.message_id
                    from {schema}.messages m
                    where m.queue_id = flow and m.lane = l.lane and m.state = 'ready'
                    order by -m.priority, m.message_id limit qty for update skip locked
                ) r
            ) c
            order by c.priority desc, c.message_id limit qty
        ) end;
        return query
        update {schema}.messages m
        set state = 'leased', delivery = m.delivery + 1, strikes = m.strikes + 1,
            visible_at = at + {schema}.ms(coalesce(
                case when claim_lanes.worker_id is null then m.lease_ms end, claim_lanes.lease_ms, queue.lease_ms,
                claim_lanes.default_lease_ms)),
            worker_id = claim_lanes.worker_id
        where m.ctid = any(picked)
        returning m.message_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts, m.enqueued_at,
                  m.visible_at, m.last_error, null::timestamptz, null::timestamptz, null::boolean, null::text;
        get diagnostics got = row_count;
        if due.lost is not null then
            perform {schema}.add_lost_leases(due.lost, due.lost_deliveries, due.lost_workers, at);
            perform {schema}.give_attempts_back(due.lost, due.lost_deliveries, due.lost_workers);
        end if;
        -- Claimable rows that were not taken: locked by other sessions, or left because a suspect is delivered alone.
        select min(x.visible_at) filter (where x.visible_at <= at or x.ready),
               min(x.visible_at) filter (where x.visible_at > at and not x.ready)
        into since, next_due
        from unnest(lanes) as l (lane)
        cross join lateral (
            (select m.visible_at, true as ready from {schema}.messages m
             where m.queue_id = flow and m.lane = l.lane and m.state = 'ready'
             order by -m.priority, m.message_id limit 1)
            union all
            (select m.visible_at, false from {schema}.messages m
             where m.queue_id = flow and m.lane = l.lane and m.state <> 'ready'
             order by m.visible_at limit 1)
        ) x
        where got < qty;
        next_due := least({schema}.look_again(since, at), next_due);
    end if;
    return query select null::bigint, null::bigint, null::integer, null::integer, null::integer, null::integer,
        null::timestamptz, null::timestamptz, null::text, at, next_due, buried, told;
end
$$;
comment on function {schema}.claim_lanes is 'Internal: claims tasks of some steps of a flow.';

-- poll_for_tasks() for a worker that has handlers for some steps only.
create or replace function {schema}.poll_for_step_tasks(
    queue_name       text,
    steps            text[],
    vt               numeric,
    qty              integer,
    worker_id        bigint default null,
    max_poll_seconds numeric default 0,
    poll_interval_ms integer default 100
) returns setof {schema}.started_tasks
language plpgsql
as $$
declare
    id      bigint := {schema}.flow_id(queue_name);
    unknown text := (
        select min(u) from unnest(steps) u
        where not exists (select from {schema}.flow_steps f where f.workflow_id = id and f.step_slug = u)
    );
    until   timestamptz;
    c       record;
    got     boolean := false;
    more    boolean;
    wrote   boolean := false;
begin
    perform {schema}.check_poll(vt, qty, max_poll_seconds, poll_interval_ms);
    if unknown is not null then
        raise exception 'flow ''%'' has no step ''%''', queue_name, unknown using errcode = 'PW003';
    elsif coalesce(cardinality(steps), 0) = 0 or array_position(steps, null) is not null then
        raise exception 'steps must contain at least one step of flow ''%''', queue_name using errcode = 'PW003';
    end if;
    until := clock_timestamp() + max_poll_seconds * interval '1 second';
    loop
        for c in
            select * from {schema}.claim_tasks(
                array[id], qty, round(vt * 1000)::bigint, steps => poll_for_step_tasks.steps,
                poller_id => poll_for_step_tasks.worker_id) t
            order by t.priority desc nulls last, t.message_id
        loop
            if c.message_id is null then
                more := c.more;
            else
                got := true;
                return next row(queue_name, c.run_id, c.step_slug, c.task_index, c.payload::json, c.message_id,
                                c.task_attempts, c.delivery)::{schema}.started_tasks;
            end if;
        end loop;
        wrote := wrote or more;  -- as in poll_for_tasks()
        exit when got or (not more and (wrote or clock_timestamp() >= until));
        if not more then
            perform pg_sleep(least(poll_interval_ms / 1000.0, extract(epoch from until - clock_timestamp())));
        end if;
    end loop;
end
$$;
comment on function {schema}.poll_for_step_tasks is
    'Like poll_for_tasks(), but only for the given steps. The worker_id is shown with the tasks.';
