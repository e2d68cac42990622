-- Reports about failed tasks: a retry, or the end of the step. See flow/task_reports.sql.

-- base_delay * 2^attempts, at most one hour.
create or replace function {schema}.flow_retry_delay_ms(base_ms bigint, attempts integer) returns bigint
language sql immutable
as $$ select least({rule:longest_flow_delay_ms}, least(base_ms, {rule:longest_flow_delay_ms})
    * (1::bigint << least(attempts, {rule:most_flow_doublings}))) $$;
comment on function {schema}.flow_retry_delay_ms is 'Internal: the delay before the next attempt of a failed task.';

-- Decides about failed tasks: retry, or the when_exhausted policy of the step; busy if the run is not locked. If a run
-- fails or a step is skipped, the first report counts: the others are `cancelled` or `superseded`.
create or replace function {schema}.failure_decisions(
    message_ids bigint[], locked_runs bigint[], run_ids bigint[], step_indexes integer[],
    task_indexes integer[], permanents boolean[], retry_delays_ms bigint[],
    out decisions text[], out delays_ms bigint[], out attempts integer[], out workflows bigint[],
    out priorities integer[], out slugs text[], out workers bigint[], out deliveries integer[],
    out audited boolean[]
)
language sql
as $$
    select array_agg(
               case when n.decision in ('busy', 'fail') and n.place = coalesce(n.first_fail, n.place) then n.decision
                    when n.decision <> 'busy' and n.first_fail is not null then 'cancelled'
                    when n.decision <> 'busy' and n.first_skip <> n.place then 'superseded'
                    else n.decision end order by n.place),
           array_agg(n.delay_ms order by n.place), array_agg(n.attempts order by n.place),
           array_agg(n.workflow_id order by n.place), array_agg(n.priority order by n.place),
           array_agg(n.slug order by n.place), array_agg(n.worker_id order by n.place),
           array_agg(n.delivery order by n.place), array_agg(n.audited order by n.place)
    from (
        select n.*,
               min(n.place) filter (where n.decision = 'fail') over (partition by n.run_id) as first_fail,
               min(n.place) filter (where n.decision like 'skip%') over (partition by n.run_id, n.step_index)
                   as first_skip
        from (
            select u.place, u.run_id, u.step_index, x.attempts, x.workflow_id, x.priority, x.slug, x.worker_id,
                   x.delivery, x.audited,
                   coalesce(u.retry_delay_ms, {schema}.flow_retry_delay_ms(x.base_ms, x.attempts)) as delay_ms,
                   case when u.message_id is null or x.slug is null or u.run_id <> all(locked_runs)
                             or locked_runs is null then 'busy'
                        when u.permanent is not true and x.attempts < x.max_attempts then 'retry'
                        else x.when_exhausted end as decision
            from unnest(message_ids, run_ids, step_indexes, task_indexes, permanents, retry_delays_ms)
                with ordinality
                as u (message_id, run_id, step_index, task_index, permanent, retry_delay_ms, place)
            left join lateral (
                select t.attempts, t.worker_id, t.delivery, r.workflow_id, r.priority, f.step_slug::text as slug,
                       f.when_exhausted, coalesce(f.base_delay_ms, w.backoff_base_ms) as base_ms,
                       coalesce(f.max_attempts, r.max_attempts, w.max_attempts) as max_attempts,
                       w.audit <> 'off' as audited
                from {schema}.tasks t
                join {schema}.runs r on r.run_id = t.run_id
                join {schema}.workflows w on w.workflow_id = r.workflow_id
                join {schema}.flow_steps f on f.workflow_id = r.workflow_id and f.step_index = t.step_index
                where t.run_id = u.run_id and t.step_index = u.step_index and t.task_index = u.task_index
                offset 0
            ) x on true
        ) n
    ) n
$$;
comment on function {schema}.failure_decisions is
    'Internal: decides whether failed tasks are retried or end their step or run.';

-- Locks the messages of all tasks that end with a failed run or a skipped step; returns the runs of which another
-- session has locked one.
create or replace function {schema}.lock_siblings(
    decisions text[], run_ids bigint[], step_indexes integer[], wait boolean
) returns bigint[]
language plpgsql
as $$
declare
    messages bigint[];
    runs     bigint[];
    held     bigint[];
begin
    select array_agg(t.message_id), array_agg(u.run_id) into messages, runs
    from unnest(decisions, run_ids, step_indexes) as u (decision, run_id, step_index)
    cross join lateral (
        select t.message_id from {schema}.tasks t
        where t.run_id = u.run_id and t.status in ('QUEUED', 'RUNNING')
          and (u.decision = 'fail' or t.step_index = u.step_index)
        offset 0
    ) t
    where u.decision = 'fail' or u.decision like 'skip%';
    if wait then
        perform from {schema}.messages m where m.message_id = any(messages) order by m.message_id for update;
        return '{}';
    end if;
    held := array(
        select m.message_id from {schema}.messages m where m.message_id = any(messages)
        order by m.message_id for update skip locked
    );
    if cardinality(held) = cardinality(messages) then
        return '{}';
    end if;
    return array(
        select distinct u.run_id from unnest(runs, messages) as u (run_id, message_id)
        where u.message_id <> all(held)
    );
end
$$;
comment on function {schema}.lock_siblings is 'Internal: locks the tasks that end together with failed tasks.';

-- Records failures of tasks whose messages are locked. `locked_runs` are the runs that are locked too. The outcome is
-- null for an item without a message.
create or replace function {schema}.fail_held_tasks(
    message_ids bigint[], locked_runs bigint[], run_ids bigint[], step_indexes integer[],
    task_indexes integer[], errors text[], permanents boolean[], retry_delays_ms bigint[], wait boolean,
    at timestamptz,
    out outcomes text[], out ended bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    n       record;
    blocked bigint[];
begin
    select * into n
    from {schema}.failure_decisions(
        message_ids, locked_runs, run_ids, step_indexes, task_indexes, permanents, retry_delays_ms);
    if n.decisions && array['fail', 'skip', 'skip-cascade'] then
        blocked := {schema}.lock_siblings(n.decisions, run_ids, step_indexes, wait);
        if not wait then
            blocked := blocked || {schema}.lock_called(n.decisions, run_ids, step_indexes);
        end if;
        if cardinality(blocked) > 0 then
            n.decisions := array(
                select case when u.run_id = any(blocked) then 'busy' else u.decision end
                from unnest(n.decisions, run_ids) with ordinality as u (decision, run_id, place) order by u.place
            );
        end if;
    end if;

    update {schema}.messages m
    set state = case when u.delay_ms > 0 then 'waiting' else 'ready' end,
        visible_at = fail_held_tasks.at + {schema}.ms(u.delay_ms), strikes = 0, attempts = m.attempts + 1,
        worker_id = null, last_error = u.error
    from unnest(message_ids, n.decisions, n.delays_ms, errors) as u (message_id, decision, delay_ms, error)
    where m.message_id = any(array[u.message_id]) and u.decision = 'retry';
    update {schema}.tasks t
    set status = case when u.decision = 'retry' then 'QUEUED' else 'ERROR' end, error = u.error,
        completed_at = case when u.decision <> 'retry' then fail_held_tasks.at end
    from unnest(run_ids, step_indexes, task_indexes, n.decisions, errors)
        as u (run_id, step_index, task_index, decision, error)
    where t.run_id = any(array[u.run_id]) and t.step_index = u.step_index and t.task_index = u.task_index
      and u.decision in ('retry', 'fail', 'skip', 'skip-cascade');
    insert into {schema}.events (run_id, kind, data, worker_id, delivery, at)
    select u.run_id, case when u.decision = 'retry' then '{event:task_retry}' else '{event:step_skipped}' end,
           format('{"step":"%s","task_index":%s,"attempt":%s,"error":%s}', u.slug, u.task_index, u.attempts,
                  to_json(coalesce(u.error, ''))),
           u.worker_id, u.delivery, fail_held_tasks.at
    from unnest(run_ids, task_indexes, n.decisions, errors, n.slugs, n.attempts, n.workers, n.deliveries, n.audited)
        as u (run_id, task_index, decision, error, slug, attempts, worker_id, delivery, audited)
    where u.audited and u.decision in ('retry', 'skip', 'skip-cascade');

    outcomes := array(
        select case when u.message_id is null then null
                    when u.decision in ('busy', 'cancelled') then u.decision
                    when u.decision = 'superseded' then 'lease_lost'
                    else 'done' end
        from unnest(message_ids, n.decisions) with ordinality as u (message_id, decision, place) order by u.place
    );
    if 'retry' = any(n.decisions) then
        queues := n.workflows;
    end if;
    if n.decisions && array['fail', 'skip', 'skip-cascade'] then
        delete from {schema}.messages m
        where m.message_id = any(array(
            select u.message_id from unnest(message_ids, n.decisions) as u (message_id, decision)
            where u.decision in ('fail', 'skip', 'skip-cascade')
        ));
        select f.ended, queues || f.queues into ended, queues
        from {schema}.exhaust_steps(
            n.decisions, run_ids, n.workflows, n.priorities, step_indexes, n.slugs, n.attempts, errors, at) f;
    end if;
    queues := array(select distinct u from unnest(queues) u where u is not null);
end
$$;
comment on function {schema}.fail_held_tasks is 'Internal: records failures of leased tasks and their effects.';

-- For tasks without a remaining attempt.
create or replace function {schema}.exhaust_steps(
    decisions text[], run_ids bigint[], workflow_ids bigint[], priorities integer[], step_indexes integer[],
    slugs text[], attempts integer[], errors text[], at timestamptz,
    out ended bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
    words    text[];
    skipped  record;
    siblings bigint[];
    finished bigint[];
    failed   bigint[];
    next     record;
begin
    words := array(
        select format('{"type":"task_failed","message":%s,"step":"%s","attempt":%s}', to_json(coalesce(u.error, '')), u.slug,
                      u.attempts)
        from unnest(errors, slugs, exhaust_steps.attempts) with ordinality as u (error, slug, attempts, place)
        order by u.place
    );
    select array_agg(u.run_id) as all_runs, array_agg(u.step_index) as all_indexes,
           array_agg(u.run_id) filter (where u.decision = 'skip') as runs,
           array_agg(u.workflow_id) filter (where u.decision = 'skip') as workflows,
           array_agg(u.priority) filter (where u.decision = 'skip') as priorities,
           array_agg(u.step_index) filter (where u.decision = 'skip') as indexes,
           array_agg(u.run_id) filter (where u.decision = 'skip-cascade') as cascade_runs,
           array_agg(u.workflow_id) filter (where u.decision = 'skip-cascade') as cascade_workflows,
           array_agg(u.step_index) filter (where u.decision = 'skip-cascade') as cascade_indexes
    into skipped
    from unnest(decisions, run_ids, workflow_ids, priorities, step_indexes)
        as u (decision, run_id, workflow_id, priority, step_index)
    where u.decision like 'skip%';
    if skipped.all_runs is not null then
        -- Results of finished siblings are kept; open siblings are removed from the queue.
        with left_open as (
            update {schema}.tasks t set status = 'SKIPPED', completed_at = exhaust_steps.at
            from unnest(skipped.all_runs, skipped.all_indexes) as u (run_id, step_index)
            where t.run_id = any(array[u.run_id]) and t.step_index = u.step_index
              and t.status in ('QUEUED', 'RUNNING')
            returning t.message_id
        )
        select array_agg(o.message_id) into siblings from left_open o;
        delete from {schema}.messages m where m.message_id = any(siblings);
        if siblings is not null and exists (select from {schema}.calls) then
            -- The runs that they wait for are no longer needed.
            perform {schema}.drop_call(c.caller_run_id, c.caller_step, c.caller_task, at)
            from unnest(run_ids, slugs, decisions) as u (run_id, slug, decision)
            cross join lateral (
                select c.caller_run_id, c.caller_step, c.caller_task from {schema}.calls c
                where c.caller_run_id = u.run_id and c.caller_step = u.slug and c.caller_task is not null
                offset 0
            ) c
            where u.decision like 'skip%';
        end if;
        update {schema}.steps s
        set status = 'SKIPPED', skip_reason = 'handler_failed', error = u.error,
            completed_at = exhaust_steps.at
        from unnest(run_ids, slugs, decisions, words) as u (run_id, slug, decision, error)
        where s.run_id = any(array[u.run_id]) and s.step_id = u.slug and u.decision like 'skip%';
        finished := skipped.all_runs;
        if skipped.cascade_runs is not null then
            finished := finished || {schema}.skip_dependents(
                skipped.cascade_runs, skipped.cascade_workflows, skipped.cascade_indexes, at);
        end if;
        select * into next
        from {schema}.advance_runs(
            coalesce(skipped.runs, '{}'), skipped.workflows, skipped.priorities, skipped.indexes, finished, true,
            at);
        ended := next.ended || next.failed;
        if next.started then
            queues := skipped.workflows;
        end if;
    end if;
    select array_agg(u.run_id) into failed
    from unnest(decisions, run_ids) as u (decision, run_id) where u.decision = 'fail';
    if failed is not null then
        perform {schema}.fail_steps(array_agg(u.run_id), array_agg(u.step_index), array_agg(u.error), at)
        from unnest(decisions, run_ids, step_indexes, words) as u (decision, run_id, step_index, error)
        where u.decision = 'fail';
        ended := ended || failed;
    end if;
end
$$;
comment on function {schema}.exhaust_steps is
    'Internal: skips the steps, or fails the runs, of tasks that have no attempt left.';

create or replace function {schema}.fail_tasks(
    message_ids     bigint[],
    deliveries      integer[],
    run_ids         bigint[],
    step_slugs      text[],
    task_indexes    integer[],
    errors          text[],
    permanents      boolean[] default null,
    retry_delays_ms bigint[] default null,
    repeated        boolean default false,
    wake            boolean default true,
    out outcomes text[], out awaited bigint[], out ended bigint[], out queues bigint[]
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at timestamptz := {schema}.clock();
    held    record;
    result  record;
    invalid boolean[] := {schema}.invalid_times(coalesce(cardinality(message_ids), 0), retry_delays_ms, 0, true);
begin
    if invalid is not null then
        deliveries := {schema}.valid_deliveries(deliveries, invalid);
    end if;
    select * into held from {schema}.lock_task_leases(message_ids, deliveries, run_ids);
    select * into result
    from {schema}.fail_held_tasks(
        array(select case when u.tid is not null then u.id end
              from unnest(message_ids, held.tids) with ordinality as u (id, tid, place) order by u.place),
        run_ids, run_ids, held.step_indexes, held.task_indexes, errors, permanents, retry_delays_ms, false,
        now_at);
    ended := result.ended;
    queues := result.queues;
    outcomes := result.outcomes;
    awaited := {schema}.notify_flows(ended, queues, wake);
    if not held.complete then
        outcomes := {schema}.task_outcomes(
            outcomes, message_ids, deliveries, run_ids, step_slugs, task_indexes, array['ERROR', 'QUEUED'],
            repeated);
    end if;
    outcomes := {schema}.mark_invalid(outcomes, invalid);
end
$$;
comment on function {schema}.fail_tasks is
    'Records failures of leased tasks, by message and delivery: retried, or failed for good. Returns one outcome per item.';

create or replace function {schema}.fail_task(
    run_id bigint, step_slug text, task_index integer, error_message text, delivery integer default null
) returns text
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    task   record;
begin
    select * into task from {schema}.lock_task(run_id, step_slug, task_index, delivery);
    if task.outcome is not null then
        return task.outcome;
    end if;
    perform {schema}.drop_call(run_id, step_slug, task_index, now_at);
    perform {schema}.notify_flows(f.ended, f.queues, true)
    from {schema}.fail_held_tasks(
        array[task.message_id], array[run_id], array[run_id], array[task.step_index], array[task_index],
        array[coalesce(error_message, '')], null, null, true, now_at) f;
    return 'done';
end
$$;
comment on function {schema}.fail_task is
    'Reports that a running task failed. It is retried after base_delay * 2^attempts, or fails for good. Returns the outcome.';
