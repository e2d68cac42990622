-- Triggering: creates a run and its message, with the same id, in one transaction. With `wake`, the function sends the
-- NOTIFY inside that transaction; the C++ store sends it after its commit instead.

-- The usual case in few statements: runs of one workflow that is not a flow, without idempotency keys. Null if the
-- workflow is a flow or does not exist. The insert reads the workflow behind its lock, because it may have been
-- deleted.
create or replace function {schema}.create_plain_runs(
    workflow text, inputs text[], priorities integer[], delays_ms bigint[], ats timestamptz[],
    max_attempts integer[], parent_run_ids bigint[], now_at timestamptz, out run_ids bigint[], out workflow_id bigint
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    size   integer := cardinality(inputs);
    audits boolean;  -- all events are kept
    locked boolean;
begin
    select q.queue_id, w.audit = 'all', pg_try_advisory_xact_lock_shared({schema}.queue_lock_key(q.queue_id))
    into workflow_id, audits, locked
    from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
    where q.name = workflow and not w.is_flow;
    if workflow_id is null then
        return;
    end if;
    if not locked then
        perform {schema}.share_queues(array[workflow_id]);
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then
        perform {schema}.recheck_queues(array[workflow_id]);
    end if;
    run_ids := array(select nextval('{schema}.messages_message_id_seq') from generate_series(1, size));
    insert into {schema}.runs
        (run_id, workflow_id, status, priority, max_attempts, parent_run_id, created_at, updated_at, input)
    select run_ids[i], workflow_id, 'QUEUED', coalesce(priorities[i], 0), max_attempts[i], parent_run_ids[i],
           now_at, now_at, inputs[i]
    from generate_series(1, size) i
    where exists (
        select from {schema}.workflows w where w.workflow_id = create_plain_runs.workflow_id and not w.is_flow
    );
    if not found then
        run_ids := null;
        return;
    end if;
    insert into {schema}.messages
        (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
    select run_ids[i], workflow_id, coalesce(priorities[i], 0),
           case when t.at > now_at then 'waiting' else 'ready' end, greatest(t.at, now_at), now_at, 'null'
    from generate_series(1, size) i
    cross join lateral (select coalesce(ats[i], now_at + {schema}.ms(delays_ms[i]), now_at) as at) t;
    if audits then
        perform {schema}.add_triggered(run_ids, now_at);
    end if;
end
$$;
comment on function {schema}.create_plain_runs is 'Internal: creates runs of one workflow.';

-- Runs of several workflows, of flows, or with idempotency keys. workflow_ids are the workflows that got runs, without
-- duplicates. `strict`: see start_flow_runs().
create or replace function {schema}.create_runs(
    workflows text[], inputs text[], priorities integer[], delays_ms bigint[], ats timestamptz[],
    idempotency_keys text[], max_attempts integer[], parent_run_ids bigint[], now_at timestamptz, strict boolean,
    out run_ids bigint[], out created boolean[], out workflow_ids bigint[]
)
language plpgsql
as $$
declare
    names  text[] := workflows;
    owners bigint[];
    sizes  bigint[];  -- aligned with names: the number of steps of a flow, null for other workflows
    audits boolean;   -- one of the workflows keeps all events
begin
    if cardinality(workflows) > 1 then
        names := array(
            select u.name from unnest(workflows) with ordinality as u (name, place)
            group by u.name order by min(u.place)
        );
    end if;
    -- Read again behind the lock: a workflow may have been deleted.
    loop
        workflow_ids := coalesce({schema}.workflow_ids(names), '{}');
        perform {schema}.share_queues(workflow_ids);
        perform {schema}.recheck_queues(workflow_ids);
        exit when (select count(*) from {schema}.workflows w where w.workflow_id = any(workflow_ids))
            = cardinality(workflow_ids);
    end loop;
    run_ids := array(
        select nextval('{schema}.messages_message_id_seq') from generate_series(1, cardinality(workflows))
    );
    created := array_fill(true, array[cardinality(workflows)]);
    select coalesce(array_agg(w.size), '{}'), bool_or(w.audit = 'all') into sizes, audits
    from (
        select w.audit, case when w.is_flow then (
            select count(*) from {schema}.flow_steps f where f.workflow_id = w.workflow_id
        ) end as size
        from unnest(workflow_ids) with ordinality as u (id, place)
        join {schema}.workflows w on w.workflow_id = u.id
        order by u.place
    ) w;

    if cardinality(array_remove(idempotency_keys, null)) > 0 then
        -- In the order of the keys: batches that share keys wait for each other without a deadlock.
        loop
            insert into {schema}.runs
                (run_id, workflow_id, status, priority, max_attempts, parent_run_id, idempotency_key,
                 created_at, updated_at, input, remaining_steps)
            select n.run_id, workflow_ids[array_position(names, n.workflow)], 'QUEUED',
                   coalesce(n.priority, 0), n.max_attempts, n.parent_run_id, n.key, now_at, now_at, n.input,
                   sizes[array_position(names, n.workflow)]
            from unnest(run_ids, workflows, inputs, priorities, create_runs.max_attempts, parent_run_ids,
                        idempotency_keys) with ordinality
                as n (run_id, workflow, input, priority, max_attempts, parent_run_id, key, place)
            where n.key is not null
            order by n.workflow, n.key, n.place
            on conflict (workflow_id, idempotency_key)
                where idempotency_key is not null and deleted_at is null do nothing;
            owners := array(
                select case when n.key is null then n.run_id else (
                    select r.run_id from {schema}.runs r
                    where r.workflow_id = workflow_ids[array_position(names, n.workflow)]
                      and r.idempotency_key = n.key and r.deleted_at is null
                ) end
                from unnest(run_ids, workflows, idempotency_keys) with ordinality
                    as n (run_id, workflow, key, place)
                order by n.place
            );
            exit when array_position(owners, null) is null;  -- else a run was deleted in the meantime: its key is free
        end loop;
        created := array(
            select n.owner = n.run_id from unnest(owners, run_ids) with ordinality as n (owner, run_id, place)
            order by n.place
        );
    end if;
    insert into {schema}.runs
        (run_id, workflow_id, status, priority, max_attempts, parent_run_id, created_at, updated_at, input,
         remaining_steps)
    select n.run_id, workflow_ids[array_position(names, n.workflow)], 'QUEUED', coalesce(n.priority, 0),
           n.max_attempts, n.parent_run_id, now_at, now_at, n.input, sizes[array_position(names, n.workflow)]
    from unnest(run_ids, workflows, inputs, priorities, create_runs.max_attempts, parent_run_ids,
                idempotency_keys)
        as n (run_id, workflow, input, priority, max_attempts, parent_run_id, key)
    where n.key is null;
    insert into {schema}.messages
        (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
    select n.run_id, workflow_ids[array_position(names, n.workflow)], coalesce(n.priority, 0),
           case when t.at > now_at then 'waiting' else 'ready' end, greatest(t.at, now_at), now_at, 'null'
    from unnest(run_ids, created, workflows, priorities, delays_ms, ats)
        as n (run_id, created, workflow, priority, delay_ms, at)
    cross join lateral (select coalesce(n.at, now_at + {schema}.ms(n.delay_ms), now_at) as at) t
    where n.created and sizes[array_position(names, n.workflow)] is null;
    if audits then
        perform {schema}.add_triggered(
            array(select n.run_id from unnest(run_ids, created) as n (run_id, created) where n.created), now_at);
    end if;
    if cardinality(array_remove(sizes, null)) > 0 then
        perform {schema}.start_flow_runs(
            array_agg(n.run_id), array_agg(workflow_ids[array_position(names, n.workflow)]),
            array_agg(coalesce(n.at, now_at + {schema}.ms(n.delay_ms))), now_at, strict)
        from unnest(run_ids, created, workflows, delays_ms, ats) as n (run_id, created, workflow, delay_ms, at)
        where n.created and sizes[array_position(names, n.workflow)] is not null
        having count(*) > 0;
    end if;
    run_ids := coalesce(owners, run_ids);
end
$$;
comment on function {schema}.create_runs is 'Internal: creates runs of any workflows.';

-- All or nothing. The arrays are aligned; a null time means now. Inputs are JSON text. tags[i] belongs to the run
-- tag_places[i]. Returns the runs in the given order, and whether each is new or an existing run with the same
-- idempotency key.
create or replace function {schema}.trigger_batch(
    workflows        text[],
    inputs           text[],
    priorities       integer[] default null,
    delays_ms        bigint[] default null,
    ats              timestamptz[] default null,
    idempotency_keys text[] default null,
    max_attempts     integer[] default null,
    parent_run_ids   bigint[] default null,
    tag_places       integer[] default null,
    tags             text[] default null,
    wake             boolean default true,
    out run_ids bigint[], out created boolean[], out workflow_ids bigint[]
)
language plpgsql
as $$
declare
    now_at  timestamptz := {schema}.clock();
    made    record;
    _ignored text;  -- assigned where PERFORM, which runs a query, would cost 25 microseconds
begin
    _ignored := {schema}.check_trigger(
        workflows, inputs, priorities, delays_ms, ats, idempotency_keys, trigger_batch.max_attempts, parent_run_ids,
        tag_places, tags);
    if workflows[1] = all(workflows) and coalesce(num_nonnulls(variadic idempotency_keys), 0) = 0 then
        made := {schema}.create_plain_runs(
            workflows[1], inputs, priorities, delays_ms, ats, trigger_batch.max_attempts, parent_run_ids, now_at);
        run_ids := made.run_ids;
        workflow_ids := array[made.workflow_id];
        created := array_fill(true, array[cardinality(workflows)]);
    end if;
    if run_ids is null then
        made := {schema}.create_runs(
            workflows, inputs, priorities, delays_ms, ats, idempotency_keys, trigger_batch.max_attempts,
            parent_run_ids, now_at, true);
        run_ids := made.run_ids;
        workflow_ids := made.workflow_ids;
        created := made.created;
    end if;
    if cardinality(tags) > 0 then
        insert into {schema}.run_tags (tag, run_id)
        select t.tag, run_ids[t.place] from unnest(tags, tag_places) as t (tag, place)
        where created[t.place]
        on conflict do nothing;
    end if;
    if wake then
        for i in 1..cardinality(workflow_ids) loop
            _ignored := pg_notify('pawl_{schema_name}', workflow_ids[i]::text);
        end loop;
    end if;
end
$$;
comment on function {schema}.trigger_batch is
    'Creates runs of one or several workflows, all or nothing; returns their ids in order.';

-- The most common call: one run that is ready immediately and has neither key nor tags. Uses three statements, without
-- arrays and helpers. Everything else, for example a flow or an invalid argument, is left to trigger_batch().
create or replace function {schema}.trigger_one(
    workflow      text,
    input         text,
    priority      integer default 0,
    max_attempts  integer default null,
    parent_run_id bigint default null,
    wake          boolean default true,
    out run_id bigint, out created boolean, out workflow_id bigint
)
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at  timestamptz := {schema}.clock();
    audits  boolean;  -- all events are kept
    locked  boolean;
    _ignored text;     -- see trigger_batch()
    made    record;
begin
    if {schema}.require_json(input) is not null and priority between -{rule:max_priority} and {rule:max_priority}
       and (max_attempts between 1 and {rule:max_attempts}) is not false
       and current_setting('transaction_isolation') = 'read committed' then
        select q.queue_id, w.audit = 'all', pg_try_advisory_xact_lock_shared({schema}.queue_lock_key(q.queue_id))
        into workflow_id, audits, locked
        from {schema}.queues q join {schema}.workflows w on w.workflow_id = q.queue_id
        where q.name = workflow and not w.is_flow;
        if not locked then
            perform {schema}.share_queues(array[workflow_id]);
        end if;
        -- Reads the workflow behind its lock, because it may have been deleted.
        with made as (
            insert into {schema}.runs as r
                (run_id, workflow_id, status, priority, max_attempts, parent_run_id, created_at, updated_at, input)
            select nextval('{schema}.messages_message_id_seq'), w.workflow_id, 'QUEUED', priority, max_attempts,
                   parent_run_id, now_at, now_at, input
            from {schema}.workflows w where w.workflow_id = trigger_one.workflow_id and not w.is_flow
            returning r.run_id as id
        )
        insert into {schema}.messages (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
        select m.id, workflow_id, priority, 'ready', now_at, now_at, 'null' from made m
        returning message_id into run_id;
    end if;
    if run_id is null then
        made := {schema}.trigger_batch(
            array[workflow], array[input], array[priority], max_attempts => array[max_attempts],
            parent_run_ids => array[parent_run_id], wake => wake);
        run_id := made.run_ids[1];
        created := made.created[1];
        workflow_id := made.workflow_ids[1];
        return;
    end if;
    created := true;
    if audits then
        perform {schema}.add_triggered(array[run_id], now_at);
    end if;
    if wake then
        _ignored := pg_notify('pawl_{schema_name}', workflow_id::text);
    end if;
end
$$;
comment on function {schema}.trigger_one(text, text, integer, integer, bigint, boolean) is
    'Creates a run that is ready immediately, without key and tags; returns its id, true, and the id of its workflow.';

create or replace function {schema}.trigger(
    workflow        text,
    input           json default 'null',
    priority        integer default 0,
    delay_ms        bigint default 0,
    at              timestamptz default null,
    idempotency_key text default null,
    max_attempts    integer default null,
    parent_run_id   bigint default null,
    tags            text[] default '{}'
) returns bigint
language sql
as $$
    select case
        when at is null and coalesce(delay_ms, 0) = 0 and idempotency_key is null and coalesce(cardinality(tags), 0) = 0
        then ({schema}.trigger_one(
            workflow, coalesce(input::text, 'null'), coalesce(priority, 0), max_attempts, parent_run_id)).run_id
        else (
            select t.run_ids[1] from {schema}.trigger_batch(
                array[workflow], array[coalesce(input::text, 'null')], array[priority], array[delay_ms], array[at],
                array[idempotency_key], array[max_attempts], array[parent_run_id],
                array_fill(1, array[coalesce(cardinality(tags), 0)]), tags) t
        ) end
$$;
comment on function {schema}.trigger(text, json, integer, bigint, timestamptz, text, integer, bigint, text[]) is
    'Creates a run of a workflow; returns its id, or that of the existing run with the same idempotency key.';

-- Runs that the engine itself creates, for schedules and dead letters. There is no caller that could handle an error,
-- and an error must not roll back the transaction: a flow's run with an invalid input is created as ERROR.
create or replace function {schema}.trigger_internal(
    workflows text[], inputs text[], priorities integer[], ats timestamptz[], idempotency_keys text[],
    parent_run_ids bigint[], tag text, wake boolean
) returns bigint[]
language plpgsql
as $$
declare
    made record;
begin
    made := {schema}.create_runs(
        workflows, inputs, priorities, null, ats, idempotency_keys, null, parent_run_ids, {schema}.clock(), false);
    insert into {schema}.run_tags (tag, run_id)
    select trigger_internal.tag, u.run_id from unnest(made.run_ids, made.created) as u (run_id, created)
    where u.created and trigger_internal.tag is not null
    on conflict do nothing;
    if wake then
        perform pg_notify('pawl_{schema_name}', u::text) from unnest(made.workflow_ids) u;
    end if;
    return made.run_ids;
end
$$;
comment on function {schema}.trigger_internal is 'Internal: creates the runs of schedules and dead letters.';

-- Triggers the dead letter workflow of a failed run. Called in the transaction in which runs fail, so once for each.
create or replace function {schema}.trigger_dead_letters(run_ids bigint[]) returns void
language plpgsql
as $$
declare
    wanted bigint[];
begin
    select array_agg(distinct w.dead_letter_workflow_id) into wanted
    from (select r.workflow_id from {schema}.runs r where r.run_id = any(run_ids) offset 0) r
    join {schema}.workflows w using (workflow_id)
    where w.dead_letter_workflow_id is not null;
    if wanted is null then
        return;
    end if;
    -- The row locks prevent a concurrent deletion.
    wanted := array(
        select w.workflow_id from {schema}.workflows w where w.workflow_id = any(wanted)
        order by w.workflow_id for key share
    );
    perform {schema}.trigger_internal(
        array_agg(d.name), array_agg(d.input), null, null, null,
        array_agg(d.run_id), null, true)
    from (
        select r.run_id, t.name,
               format('{"run_id":%s,"workflow":%s,"input":%s,"error":%s}',
                      r.run_id, to_json(q.name), {schema}.as_json(r.input),
                      {schema}.as_json(coalesce(r.error, 'null'))) as input
        from (select r.* from {schema}.runs r where r.run_id = any(run_ids) offset 0) r
        join {schema}.workflows w using (workflow_id)
        join {schema}.queues q on q.queue_id = w.workflow_id
        join {schema}.queues t on t.queue_id = w.dead_letter_workflow_id
        where w.dead_letter_workflow_id = any(wanted)
    ) d
    having count(*) > 0;
end
$$;
comment on function {schema}.trigger_dead_letters is 'Internal: triggers the dead letter workflows of failed runs.';
