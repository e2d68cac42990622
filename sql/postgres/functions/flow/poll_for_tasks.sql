-- How a worker written in SQL gets tasks. The names are those of pgmq and pgflow: one call (poll_for_tasks) or two
-- (read_with_poll, then start_tasks).
--
-- A long poll (max_poll_seconds) sees what is committed in the meantime, but its transaction stays open and keeps
-- vacuum from removing dead rows in the whole database: poll for a short time, in separate transactions.

-- The result of poll_for_tasks and start_tasks.
create or replace view {schema}.started_tasks as
select ''::text as flow_slug, 0::bigint as run_id, ''::text as step_slug, 0 as task_index,
       'null'::json as input, 0::bigint as msg_id, 0 as attempts, 0 as delivery
where false;

-- The result of read_with_poll; read_ct is the delivery.
create or replace view {schema}.read_messages as
select 0::bigint as msg_id, 0 as read_ct, null::timestamptz as enqueued_at, null::timestamptz as vt,
       'null'::json as message
where false;

create or replace function {schema}.check_poll(
    vt numeric, qty integer, max_poll_seconds numeric, poll_interval_ms integer
) returns void
language plpgsql immutable
as $$
begin
    if vt is null or vt < 0 or vt > {rule:longest_delay_s} then
        raise exception 'vt must be 0 seconds to 100 years' using errcode = 'PW003';
    elsif qty is null or qty not between 1 and {rule:max_batch} then
        raise exception 'qty must be 1 to {rule:max_batch}' using errcode = 'PW003';
    elsif max_poll_seconds is null or max_poll_seconds not between 0 and {rule:longest_poll_s} then
        raise exception 'max_poll_seconds must be 0 to {rule:longest_poll_s}' using errcode = 'PW003';
    elsif poll_interval_ms is null or poll_interval_ms not between 1 and {rule:longest_poll_interval_ms} then
        raise exception 'poll_interval_ms must be 1 to {rule:longest_poll_interval_ms}' using errcode = 'PW003';
    end if;
end
$$;
comment on function {schema}.check_poll is 'Internal: raises if an argument of a poll is out of bounds.';

-- The waiting time of this session is measured by the server's clock and not by the schema's, which tests may stop.
create or replace function {schema}.poll_for_tasks(
    queue_name       text,
    vt               numeric,
    qty              integer,
    max_poll_seconds numeric default 0,
    poll_interval_ms integer default 100
) returns setof {schema}.started_tasks
language plpgsql
as $$
declare
    id    bigint := {schema}.flow_id(queue_name);
    until timestamptz;
    c     record;
    got   boolean := false;
    more  boolean;
    wrote boolean := false;
begin
    perform {schema}.check_poll(vt, qty, max_poll_seconds, poll_interval_ms);
    until := clock_timestamp() + max_poll_seconds * interval '1 second';
    loop
        for c in
            select * from {schema}.claim_tasks(array[id], qty, round(vt * 1000)::bigint) t
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
        -- Does not sleep after tasks were failed on the way: their rows stay locked until this poll ends, and other
        -- sessions would wait for them.
        wrote := wrote or more;
        exit when got or (not more and (wrote or clock_timestamp() >= until));
        if not more then
            perform pg_sleep(least(poll_interval_ms / 1000.0, extract(epoch from until - clock_timestamp())));
        end if;
    end loop;
end
$$;
comment on function {schema}.poll_for_tasks is
    'Delivers and starts up to qty tasks of a flow. Report each with complete_task or fail_task and its delivery.';

-- Messages of a flow's queue name tasks that are not started yet.
create or replace function {schema}.read_with_poll(
    queue_name       text,
    vt               numeric,
    qty              integer,
    max_poll_seconds numeric default 5,
    poll_interval_ms integer default 100
) returns setof {schema}.read_messages
language plpgsql
as $$
declare
    id      bigint := {schema}.readable_queue(queue_name);
    is_flow boolean := exists (select from {schema}.workflows w where w.workflow_id = id and w.is_flow);
    until   timestamptz;
    c       record;
    failed  boolean;
    wrote   boolean := false;
begin
    perform {schema}.check_poll(vt, case when qty = 0 then 1 else qty end, max_poll_seconds, poll_interval_ms);
    if qty = 0 then
        return;
    end if;
    until := clock_timestamp() + max_poll_seconds * interval '1 second';
    loop
        select array_agg(m.message_id) filter (where m.message_id is not null) as ids,
               array_agg(m.delivery) filter (where m.message_id is not null) as deliveries,
               max(m.strikes) as most_strikes, max(m.now_at) as at, bool_or(m.more) as more
        into c
        from {schema}.claim(array[id], qty, round(read_with_poll.vt * 1000)::bigint) m;
        failed := false;
        if is_flow and c.most_strikes > 1 then
            failed := {schema}.fail_exhausted(c.ids, c.at);
            perform {schema}.requeue_tasks(c.ids);
        end if;
        return query
        select m.message_id, m.delivery, m.enqueued_at, m.visible_at,
               case when m.run_id is null then m.payload
                    else format('{"flow_slug":"%s","run_id":%s,"step_slug":"%s","task_index":%s}', queue_name,
                                m.run_id, f.step_slug, m.task_index)::json end
        from unnest(c.ids, c.deliveries) as u (id, delivery)
        join {schema}.messages m on m.message_id = u.id and m.delivery = u.delivery and m.state = 'leased'
        left join {schema}.flow_steps f on f.workflow_id = m.queue_id and f.step_index = m.step_index
        order by m.priority desc, m.message_id;
        failed := failed or c.more;
        wrote := wrote or failed;  -- as in poll_for_tasks()
        exit when found or (not failed and (wrote or clock_timestamp() >= until));
        if not failed then
            perform pg_sleep(least(poll_interval_ms / 1000.0, extract(epoch from until - clock_timestamp())));
        end if;
    end loop;
end
$$;
comment on function {schema}.read_with_poll is
    'Delivers up to qty messages of a queue for vt seconds. Messages of a flow name tasks; start them with start_tasks.';

-- A task whose lease ended without a report and that was read again can be started again.
create or replace function {schema}.requeue_tasks(message_ids bigint[]) returns void
language sql
as $$
    update {schema}.tasks t set status = 'QUEUED'
    from (
        select m.run_id, m.step_index, m.task_index
        from unnest(message_ids) as u (id)
        cross join lateral (
            select m.run_id, m.step_index, m.task_index from {schema}.messages m
            where m.message_id = u.id and m.state || '' = 'leased'
            offset 0
        ) m
    ) n
    where t.run_id = any(array[n.run_id]) and t.step_index = n.step_index and t.task_index = n.task_index
      and t.status = 'RUNNING'
$$;
comment on function {schema}.requeue_tasks is 'Internal: sets tasks whose messages were read again back to QUEUED.';

-- Starts tasks whose messages were read, and leases and starts queued tasks that are due and were not read. The lease
-- is the step's timeout + 2 s; without a timeout it is the lease that the reader asked for, or that of the queue. The
-- message does not name the worker: that would mean that the worker extends its leases.
create or replace function {schema}.start_tasks(flow_slug text, msg_ids bigint[], worker_id bigint default null)
returns setof {schema}.started_tasks
language plpgsql
as $$
#variable_conflict use_column
declare
    now_at timestamptz := {schema}.clock();
    flow   bigint := {schema}.flow_id(start_tasks.flow_slug);
    held   record;
begin
    select array_agg(m.message_id) as ids, array_agg(m.run_id) as runs, array_agg(m.step_index) as indexes,
           array_agg(m.task_index) as tasks, array_agg(m.delivery + m.unread::integer) as deliveries,
           array_agg(m.message_id) filter (where m.unread) as unread
    into held
    from (
        select m.message_id, m.run_id, m.step_index, m.task_index, m.delivery, m.state <> 'leased' as unread
        from {schema}.messages m
        where m.message_id = any(msg_ids) and m.queue_id + 0 = flow
          and (m.state || '' = 'leased' or (
              m.visible_at <= now_at
              and exists (select from {schema}.queues q where q.queue_id = flow and not q.paused)
          ))
        order by m.message_id for update
    ) m;
    if held.unread is not null then
        update {schema}.messages m
        set state = 'leased', delivery = m.delivery + 1, strikes = m.strikes + 1,
            visible_at = now_at + {schema}.ms(coalesce(q.lease_ms, {rule:default_lease_ms}))
        from {schema}.queues q
        where m.message_id = any(held.unread) and q.queue_id = flow and exists (
            select from {schema}.tasks t
            where t.run_id = m.run_id and t.step_index = m.step_index and t.task_index = m.task_index
              and t.status = 'QUEUED'
            offset 0
        );
    end if;
    return query
    with started as (
        update {schema}.tasks t
        set status = 'RUNNING', attempts = t.attempts + 1, delivery = u.delivery,
            worker_id = start_tasks.worker_id, started_at = now_at
        from unnest(held.runs, held.indexes, held.tasks, held.deliveries, held.ids)
            as u (run_id, step_index, task_index, delivery, message_id)
        where t.run_id = any(array[u.run_id]) and t.step_index = u.step_index and t.task_index = u.task_index
          and t.status = 'QUEUED'
        returning t.run_id, t.step_index, t.task_index, t.message_id, t.attempts, t.delivery, t.input
    ),
    leased as (
        update {schema}.messages m
        set visible_at = coalesce(now_at + {schema}.ms(m.lease_ms), m.visible_at)
        from started s where m.message_id = any(array[s.message_id])
    )
    select start_tasks.flow_slug, s.run_id, f.step_slug::text, s.task_index,
           coalesce(s.input, concat('{"run":', r.input, ',' || {schema}.deps_members(
               s.run_id, {schema}.dep_slugs(flow, s.step_index)), '}'))::json,
           s.message_id, s.attempts, s.delivery
    from started s
    cross join lateral (
        select r.input from {schema}.runs r where r.run_id = s.run_id offset 0
    ) r
    cross join lateral (
        select f.step_slug from {schema}.flow_steps f
        where f.workflow_id = flow and f.step_index = s.step_index offset 0
    ) f
    order by s.message_id;
    if {schema}.keeps_all_events() then
        perform {schema}.add_task_starts(held.ids, now_at);
    end if;
    perform {schema}.begin_runs(held.ids, worker_id, now_at);
end
$$;
comment on function {schema}.start_tasks is
    'Starts queued tasks, and leases those whose messages were not read before; ignores other messages.';
