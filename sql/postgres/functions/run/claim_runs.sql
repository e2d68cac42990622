-- The claim of a worker that executes workflows: claim(), and for messages of runs the run itself. The first delivery
-- starts the run (a HOT update of its row); a later one returns the recorded steps, and so does that of a retried or
-- forked run. Steps are returned as aligned arrays, so the client parses no JSON.
--
-- Steps are returned as long as their outputs and errors fit into `step_bytes`, in the order of the claim; for the
-- remaining runs steps_loaded is false: call list_steps(). For `offset 0` and `= any(array[...])` see
-- run/run_writes.sql.
--
-- is_run is false for a plain message. As in claim(), the last row has no message_id.
create or replace function {schema}.claim_runs(
    queue_ids        bigint[],
    qty              integer,
    lease_ms         bigint default null,
    worker_id        bigint default null,
    default_lease_ms bigint default {rule:default_lease_ms},
    after_queue      bigint default 0,
    floor_priority   integer default null,
    floor_message    bigint default null,
    looked_at        timestamptz default null,
    swept_at         timestamptz default null,
    step_bytes       bigint default {rule:claim_step_bytes}
) returns table (
    message_id bigint, queue_id bigint, priority integer, delivery integer, strikes integer,
    attempts integer, enqueued_at timestamptz, visible_at timestamptz, last_error text, payload text,
    now_at timestamptz, next_due timestamptz, looked boolean, last_queue bigint, more boolean,
    is_run boolean, max_attempts integer, started_at timestamptz, steps_loaded boolean,
    step_ids text[], step_positions integer[], step_statuses text[], step_attempts integer[],
    step_outputs text[], step_errors text[], step_wake_ats timestamptz[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    queue    bigint := claim_runs.queue_ids[1];
    at       timestamptz := {schema}.clock();
    ready    record;
    tids     tid[];    -- the ready rows that are taken
    ids      bigint[];
    lease    interval;
    found    integer;
    started  integer := 0;
    audits   boolean;  -- all events are kept
    passed_over timestamptz;  -- since when a row that others have locked is ready
    c        record;
begin
    if ({schema}.may_claim(claim_runs.qty, claim_runs.lease_ms, claim_runs.default_lease_ms, claim_runs.floor_priority,
                           claim_runs.looked_at, claim_runs.swept_at) and step_bytes >= 0) is not true then
        perform {schema}.refuse_claim(claim_runs.qty, claim_runs.lease_ms, claim_runs.default_lease_ms,
                                      claim_runs.floor_priority, claim_runs.looked_at, claim_runs.swept_at);
        perform {schema}.check_given('step_bytes', step_bytes is null);
        perform {schema}.check_range('step_bytes', step_bytes, 0, 9223372036854775807);
    end if;
    -- The usual case in few statements: one queue without due rows.
    if cardinality(claim_runs.queue_ids) = 1 then
        if claim_runs.floor_message is not null then
            ready := {schema}.pick_ready(
                queue, claim_runs.qty, claim_runs.floor_priority, claim_runs.floor_message
            );
            tids := ready.tids;
            ids := ready.ids;
        end if;
        looked := ids is null or cardinality(ids) < claim_runs.qty or claim_runs.looked_at is null
            or at - claim_runs.looked_at >= interval '{rule:due_look_interval_ms} milliseconds';
        select coalesce(tids, p.first_tids), coalesce(ids, p.first_ids),
               {schema}.ms(coalesce(claim_runs.lease_ms, q.lease_ms, claim_runs.default_lease_ms)),
               case when looked then (
                   select m.visible_at from {schema}.messages m
                   where m.queue_id = queue and m.state <> 'ready' and m.visible_at >
                       case when at - claim_runs.swept_at < interval '{rule:due_sweep_interval_ms} milliseconds'
                            then claim_runs.looked_at - interval '{rule:due_overlap_ms} milliseconds' else '-infinity' end
                   order by m.visible_at limit 1
               ) end,
               exists (select from {schema}.workflows w where w.audit = 'all' and w.workflow_id = queue),
               -- If fewer than qty rows could be locked: the next ready row, which another session has locked. That
               -- session may release it without taking it, so it must be checked again.
               case when coalesce(cardinality(coalesce(ids, p.first_ids)), 0) < claim_runs.qty then (
                   select m.visible_at from {schema}.messages m
                   where m.queue_id = queue and m.state = 'ready'
                   order by -m.priority, m.message_id
                   offset coalesce(cardinality(coalesce(ids, p.first_ids)), 0) limit 1
               ) end
        into tids, ids, lease, next_due, audits, passed_over
        from {schema}.queues q
        cross join lateral (
            select array_agg(m.ctid) as first_tids, array_agg(m.message_id) as first_ids
            from (  -- like pick_ready() without a floor
                select m.ctid, m.message_id from {schema}.messages m
                where m.queue_id = queue and m.state = 'ready'
                order by -m.priority, m.message_id
                limit case when claim_runs.floor_message is null then claim_runs.qty else 0 end
                for update skip locked
            ) m
        ) p
        where q.queue_id = queue and not q.paused;
        found := coalesce(cardinality(ids), 0);
    end if;

    if lease is not null and (next_due > at) is not false then
        if found > 0 then
            return query
            with m as (
                update {schema}.messages m
                set state = 'leased', delivery = m.delivery + 1, strikes = m.strikes + 1,
                    visible_at = at + lease, worker_id = claim_runs.worker_id
                where m.ctid = any(tids)
                returning m.message_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts,
                          m.enqueued_at, m.visible_at, m.last_error
            )
            update {schema}.runs r
            set status = 'RUNNING', started_at = at, worker_id = claim_runs.worker_id, updated_at = at
            from m
            where r.run_id = any(array[m.message_id]) and m.delivery = 1 and r.origin_run_id is null
            returning r.run_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts, m.enqueued_at,
                      m.visible_at, m.last_error, r.input, null::timestamptz, null::timestamptz,
                      null::boolean, null::bigint, null::boolean, true, r.max_attempts, r.started_at, true,
                      null::text[], null::integer[], null::text[], null::integer[], null::text[],
                      null::text[], null::timestamptz[];
            get diagnostics started = row_count;
            if audits then
                perform {schema}.add_starts(ids, claim_runs.worker_id, at);
            end if;
        end if;
        if started < found then
            select array_agg(m.message_id) as ids, array_agg(m.queue_id) as queues,
                   array_agg(m.priority) as priorities, array_agg(m.delivery) as deliveries,
                   array_agg(m.strikes) as strikes, array_agg(m.attempts) as attempts,
                   array_agg(m.enqueued_at) as enqueued, array_agg(m.visible_at) as visible,
                   array_agg(m.last_error) as errors, array_agg(m.payload) as payloads, at
            into c
            from {schema}.messages m where m.message_id = any(ids);
        end if;
        now_at := at;
        next_due := case when found < claim_runs.qty
                         then least(next_due, case when found > 0 then at + lease end,
                                    {schema}.look_again(passed_over, at)) end;
        last_queue := queue;
        more := false;
    else
        -- Collected first, because runs must be read as they are behind the claim's locks.
        select array_agg(m.message_id) as ids, array_agg(m.queue_id) as queues,
               array_agg(m.priority) as priorities, array_agg(m.delivery) as deliveries,
               array_agg(m.strikes) as strikes, array_agg(m.attempts) as attempts,
               array_agg(m.enqueued_at) as enqueued, array_agg(m.visible_at) as visible,
               array_agg(m.last_error) as errors, array_agg(m.payload) as payloads,
               max(m.now_at) as at, max(m.next_due) as due, bool_or(m.looked) as looked,
               max(m.last_queue) as last_queue, bool_or(m.more) as more, {schema}.keeps_all_events() as audits,
               (array_agg(m.payload) filter (where m.message_id is null))[1] as notes
        into c
        from {schema}.claim(
            claim_runs.queue_ids, claim_runs.qty, claim_runs.lease_ms, claim_runs.worker_id,
            claim_runs.default_lease_ms, claim_runs.after_queue, claim_runs.floor_priority,
            claim_runs.floor_message, claim_runs.looked_at, claim_runs.swept_at
        ) m;
        found := cardinality(c.ids) - 1;

        -- Nearly always all are first deliveries.
        return query
        update {schema}.runs r
        set status = 'RUNNING', started_at = c.at, worker_id = claim_runs.worker_id, updated_at = c.at
        from unnest(c.ids, c.queues, c.priorities, c.deliveries, c.strikes, c.attempts, c.enqueued,
                    c.visible, c.errors)
            as m (id, queue_id, priority, delivery, strikes, attempts, enqueued, visible, error)
        where r.run_id = any(array[m.id]) and m.delivery = 1 and r.origin_run_id is null
        returning r.run_id, m.queue_id, m.priority, m.delivery, m.strikes, m.attempts, m.enqueued,
                  m.visible, m.error, r.input, null::timestamptz, null::timestamptz, null::boolean,
                  null::bigint, null::boolean, true, r.max_attempts, r.started_at, true, null::text[],
                  null::integer[], null::text[], null::integer[], null::text[], null::text[],
                  null::timestamptz[];
        get diagnostics started = row_count;
        if c.audits then
            perform {schema}.add_starts(c.ids, claim_runs.worker_id, c.at);
        end if;
        payload := c.notes;
        now_at := c.at;
        next_due := c.due;
        looked := c.looked;
        last_queue := c.last_queue;
        more := c.more;
    end if;

    if started < found then
        update {schema}.runs r
        set status = 'RUNNING', started_at = coalesce(r.started_at, c.at), worker_id = claim_runs.worker_id,
            updated_at = c.at, paused_at = null
        from unnest(c.ids, c.deliveries) as m (id, delivery)
        where r.run_id = any(array[m.id]) and r.status in ('QUEUED', 'PAUSED');

        return query
        select b.id, b.queue_id, b.priority, b.delivery, b.strikes, b.attempts, b.enqueued, b.visible,
               b.error, coalesce(b.input, b.payload::text), null::timestamptz, null::timestamptz,
               null::boolean, null::bigint, null::boolean, b.is_run, b.max_attempts, b.started_at,
               b.total <= step_bytes, s.ids, s.positions, s.statuses, s.attempts, s.outputs, s.errors,
               s.wake_ats
        from (
            select m.*, r.run_id is not null as is_run, r.input, r.max_attempts, r.started_at,
                   sum(s.bytes) over (order by m.priority desc, m.id) as total
            from unnest(c.ids, c.queues, c.priorities, c.deliveries, c.strikes, c.attempts, c.enqueued,
                        c.visible, c.errors, c.payloads)
                as m (id, queue_id, priority, delivery, strikes, attempts, enqueued, visible, error, payload)
            left join lateral (
                select r.run_id, r.input, r.max_attempts, r.started_at, r.origin_run_id
                from {schema}.runs r where r.run_id = m.id
                offset 0
            ) r on true
            cross join lateral (
                select coalesce(sum(octet_length(s.output)), 0) + coalesce(sum(octet_length(s.error)), 0)
                       as bytes
                from {schema}.steps s where s.run_id = m.id
            ) s
            where m.id is not null
              and (m.delivery > 1 or r.run_id is null or r.origin_run_id is not null)
        ) b
        cross join lateral (
            select array_agg(s.step_id::text) as ids, array_agg(s.position) as positions,
                   array_agg(s.status) as statuses, array_agg(s.attempt) as attempts,
                   array_agg(s.output) as outputs, array_agg(s.error) as errors,
                   array_agg(s.wake_at) as wake_ats
            from (
                select s.* from {schema}.steps s
                where s.run_id = b.id and s.status <> 'CANCELLED' and b.total <= step_bytes
                order by s.position, s.step_id
            ) s
        ) s;
    end if;

    return next;  -- the last row: only the columns that describe the claim
end
$$;
comment on function {schema}.claim_runs is
    'Like claim(), and starts the runs of the messages: returns their inputs and the steps that a replay needs.';
