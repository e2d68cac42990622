-- Schedules. The library computes fire times (src/model/cron.h); these functions store them and create the runs. A call
-- that fires or changes a schedule names the version that it has read. Lock order: functions/README.md.

create or replace function {schema}.list_schedules(only_schedule text default null) returns table (
    schedule_id bigint, version bigint, schedule text, workflow text, cron text, time_zone text,
    params json, starts_at timestamptz, ends_at timestamptz, jitter_ms bigint, priority integer,
    overlap text, catch_up text, catch_up_limit integer, paused boolean, next_fire_at timestamptz,
    last_fire_at timestamptz, last_run_id bigint, waiting_fire_at timestamptz, created_at timestamptz
)
language sql stable
as $$
    select s.schedule_id, s.version, s.name, q.name, s.cron, s.time_zone, s.input::json, s.starts_at,
           s.ends_at, s.jitter_ms, s.priority, s.overlap, s.catch_up, s.catch_up_limit, s.paused,
           s.next_fire_at, s.last_fire_at, s.last_run_id, s.waiting_fire_at, s.created_at
    from {schema}.schedules s
    join {schema}.queues q on q.queue_id = s.workflow_id
    where only_schedule is null or s.name = only_schedule
    order by s.name
$$;
comment on function {schema}.list_schedules is 'Lists schedules with their settings and next fire times, by name.';

-- The same bounds as in src/model/schedule.cpp. Cron expressions are checked only by the library.
create or replace function {schema}.check_schedule(
    schedule text, cron text, time_zone text, params text, jitter_ms bigint, priority integer, overlap text,
    catch_up text, catch_up_limit integer, paused boolean, times timestamptz[]
) returns void
language plpgsql stable
as $$
begin
    perform {schema}.check_text('a schedule''s name', schedule, {rule:max_name_bytes});
    perform {schema}.check_text('cron', cron, {rule:max_cron_bytes});
    perform {schema}.check_text('time_zone', time_zone, {rule:max_time_zone_bytes});
    perform {schema}.check_given('jitter_ms, priority, overlap, catch_up, catch_up_limit and paused', num_nulls(
        jitter_ms, priority, overlap, catch_up, catch_up_limit, paused) > 0);
    perform {schema}.check_range('jitter_ms', jitter_ms, 0, {rule:longest_jitter_ms});
    perform {schema}.check_range('priority', priority, -{rule:max_priority}, {rule:max_priority});
    perform {schema}.check_range('catch_up_limit', catch_up_limit, 1, {rule:max_catch_up});
    perform {schema}.check_word('overlap', overlap, array['allow', 'skip', 'queue-one']);
    perform {schema}.check_word('catch_up', catch_up, array['none', 'last', 'all']);
    perform {schema}.check_time('a time of a schedule', t) from unnest(times) t;
    perform {schema}.check_given('params', params is null);
    perform {schema}.check_json('params', array[params]);
end
$$;
comment on function {schema}.check_schedule is 'Internal: raises if a schedule is invalid.';

-- Returns false if the name already exists (without schedule_id), or if the version is not the current one.
create or replace function {schema}.save_schedule(
    schedule_id     bigint,
    version         bigint,
    schedule        text,
    workflow        text,
    cron            text,
    time_zone       text,
    params          text,
    starts_at       timestamptz,
    ends_at         timestamptz,
    jitter_ms       bigint,
    priority        integer,
    overlap         text,
    catch_up        text,
    catch_up_limit  integer,
    paused          boolean,
    next_fire_at    timestamptz,
    waiting_fire_at timestamptz
) returns boolean
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    id     bigint;
    saved  boolean;
begin
    perform {schema}.check_schedule(
        schedule, save_schedule.cron, save_schedule.time_zone, params, save_schedule.jitter_ms, save_schedule.priority,
        save_schedule.overlap, save_schedule.catch_up, save_schedule.catch_up_limit, save_schedule.paused,
        array[save_schedule.starts_at, save_schedule.ends_at, save_schedule.next_fire_at,
              save_schedule.waiting_fire_at]);
    -- The row lock prevents a concurrent deletion.
    select w.workflow_id into id
    from {schema}.workflows w
    where w.workflow_id = (select q.queue_id from {schema}.queues q where q.name = workflow)
    for key share;
    if id is null then
        raise exception '{text:workflow_missing}', workflow, workflow using errcode = 'PW007';
    end if;
    if coalesce(save_schedule.schedule_id, 0) = 0 then
        insert into {schema}.schedules
            (name, workflow_id, cron, time_zone, input, starts_at, ends_at, jitter_ms, priority, overlap,
             catch_up, catch_up_limit, paused, next_fire_at, waiting_fire_at, created_at)
        values (
            schedule, id, save_schedule.cron, save_schedule.time_zone, params, save_schedule.starts_at,
            save_schedule.ends_at, save_schedule.jitter_ms, save_schedule.priority, save_schedule.overlap,
            save_schedule.catch_up, save_schedule.catch_up_limit, save_schedule.paused,
            save_schedule.next_fire_at, save_schedule.waiting_fire_at, now_at
        )
        on conflict (name) do nothing;
    else
        update {schema}.schedules s
        set version = s.version + 1, workflow_id = id, cron = save_schedule.cron,
            time_zone = save_schedule.time_zone, input = params, starts_at = save_schedule.starts_at,
            ends_at = save_schedule.ends_at, jitter_ms = save_schedule.jitter_ms,
            priority = save_schedule.priority, overlap = save_schedule.overlap,
            catch_up = save_schedule.catch_up, catch_up_limit = save_schedule.catch_up_limit,
            paused = save_schedule.paused, next_fire_at = save_schedule.next_fire_at,
            waiting_fire_at = save_schedule.waiting_fire_at
        where s.schedule_id = save_schedule.schedule_id and s.version = save_schedule.version;
    end if;
    saved := found;
    if saved then
        perform pg_notify('pawl_{schema_name}', '-1');  -- schedulers check again
    end if;
    return saved;
end
$$;
comment on function {schema}.save_schedule(
    bigint, bigint, text, text, text, text, text, timestamptz, timestamptz, bigint, integer, text, text,
    integer, boolean, timestamptz, timestamptz
) is 'Creates a schedule, or changes it if the given version is current; false if another session changed it first.';

create or replace function {schema}.delete_schedule(schedule text) returns boolean
language plpgsql
as $$
begin
    delete from {schema}.schedules s where s.name = schedule;
    if not found then
        raise exception '{text:schedule_missing}', schedule using errcode = 'PW018';
    end if;
    return true;
end
$$;
comment on function {schema}.delete_schedule is 'Deletes a schedule; its runs stay.';

-- One row per schedule that is due: a fire time has arrived, or a delayed fire can start because the earlier run has
-- ended. If no schedule is due, one row that has only the current time and the time of the next check.
create or replace function {schema}.due_schedules(max_rows integer default {rule:default_page_rows}) returns table (
    now_at timestamptz, next_due timestamptz, waiting boolean, schedule_id bigint, version bigint,
    schedule text, workflow text, cron text, time_zone text, params json, starts_at timestamptz,
    ends_at timestamptz, jitter_ms bigint, priority integer, overlap text, catch_up text,
    catch_up_limit integer, paused boolean, next_fire_at timestamptz, last_fire_at timestamptz,
    last_run_id bigint, waiting_fire_at timestamptz, created_at timestamptz
)
language plpgsql
as $$
declare
    due bigint[];
begin
    now_at := {schema}.clock();
    due := array(
        select s.schedule_id from {schema}.schedules s
        where not s.paused and s.next_fire_at <= now_at
        order by s.next_fire_at limit {schema}.page_size(max_rows)
    ) || array(
        select s.schedule_id from {schema}.schedules s
        where s.waiting_fire_at is not null and not s.paused
          and not exists (
              select from {schema}.runs r where r.run_id = s.last_run_id and r.completed_at is null
          )
        limit {schema}.page_size(max_rows)
    );
    next_due := (
        select min(s.next_fire_at) from {schema}.schedules s
        where not s.paused and s.next_fire_at > now_at
    );
    waiting := exists (
        select from {schema}.schedules s where s.waiting_fire_at is not null and not s.paused
    );
    return query
    select due_schedules.now_at, due_schedules.next_due, due_schedules.waiting, l.*
    from {schema}.list_schedules() l where l.schedule_id = any(due);
    -- Also if the schedules found above have been deleted since.
    if not found then
        return next;
    end if;
end
$$;
comment on function {schema}.due_schedules is
    'Returns the schedules that are due, and the time at which the next one is.';

-- The same text as in src/model/schedule.cpp.
create or replace function {schema}.fire_key(schedule text, at timestamptz) returns text
language sql stable
as $$
    select format('schedule:%s:%s%sZ', schedule, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'),
                  case when at <> date_trunc('second', at) then to_char(at at time zone 'UTC', '.US') end)
$$;
comment on function {schema}.fire_key is 'Internal: the key of a fire time of a schedule.';


-- Creates the runs of a schedule; returns them in the order of their fire times. Fire times have a separate set of
-- keys, apart from those of users. A schedule that is deleted and created again finds the runs of its earlier fire
-- times. The caller has locked the schedule, and names are unique, so there is no race on the key.
create or replace function {schema}.trigger_schedule(
    s {schema}.schedules, workflow text, fire_ats timestamptz[], ats timestamptz[], wake boolean
) returns bigint[]
language plpgsql
as $$
declare
    key  text;
    run  bigint;
    made bigint[] := '{}';
begin
    for i in 1 .. cardinality(fire_ats) loop
        key := {schema}.fire_key(s.name, fire_ats[i]);
        select r.run_id into run from {schema}.runs r
        where r.workflow_id = s.workflow_id and r.fire_key = key and r.deleted_at is null;
        if not found then
            run := ({schema}.trigger_internal(
                array[workflow], array[s.input], array[s.priority], ats[i:i], null, null, 'schedule:' || s.name, wake))[1];
            update {schema}.runs r set fire_key = key where r.run_id = run;
        end if;
        made := made || run;
    end loop;
    return made;
end
$$;
comment on function {schema}.trigger_schedule is 'Internal: creates the runs of a schedule''s fire times.';

-- Creates the runs of these fire times, as far as the overlap policy allows, and sets the next fire time. Not fired if
-- another scheduler holds the schedule or was faster, if the schedule was changed, or if a fire time is in the future.
-- idempotency_keys is ignored: see fire_key().
create or replace function {schema}.fire_schedule(
    schedule_id      bigint,
    version          bigint,
    fire_ats         timestamptz[],
    ats              timestamptz[],
    idempotency_keys text[],
    next_fire_at     timestamptz,
    wake             boolean default true,
    out fired boolean, out fired_workflow_id bigint
)
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    s        {schema}.schedules;
    workflow text;
    made     bigint[];
begin
    fired := false;
    if coalesce(cardinality(fire_ats), 0) > {rule:max_catch_up}
       or cardinality(ats) <> coalesce(cardinality(fire_ats), 0)  -- null: now, for all of them
       or num_nulls(variadic fire_ats) > 0 then
        raise exception 'fire_ats and ats must have the same number of elements, at most {rule:max_catch_up}, without nulls'
            using errcode = 'PW003';
    end if;
    perform {schema}.check_places(null, null, ats);
    perform {schema}.check_time('next_fire_at', fire_schedule.next_fire_at);
    select f.workflow_id, q.name into fired_workflow_id, workflow
    from {schema}.schedules f join {schema}.queues q on q.queue_id = f.workflow_id
    where f.schedule_id = fire_schedule.schedule_id and f.version = fire_schedule.version;
    if not found then
        return;
    end if;
    perform {schema}.share_queues(array[fired_workflow_id]);
    select f.* into s from {schema}.schedules f
    where f.schedule_id = fire_schedule.schedule_id and f.version = fire_schedule.version and not f.paused
    for update skip locked;
    if not found or now_at < any(fire_ats) then
        return;
    end if;
    fired := true;
    if s.overlap = 'allow' then
        if cardinality(fire_ats) > 0 then
            made := {schema}.trigger_schedule(s, workflow, fire_ats, ats, wake);
            s.last_run_id := made[cardinality(made)];
            s.last_fire_at := fire_ats[cardinality(fire_ats)];
            s.waiting_fire_at := null;
        end if;
    else
        -- A run counts as live when it is created, so at most one of several runs is created.
        for i in 1 .. coalesce(cardinality(fire_ats), 0) loop
            if not exists (
                select from {schema}.runs r where r.run_id = s.last_run_id and r.completed_at is null
            ) then
                made := {schema}.trigger_schedule(s, workflow, fire_ats[i:i], ats[i:i], wake);
                s.last_run_id := made[1];
                s.last_fire_at := fire_ats[i];
                if s.waiting_fire_at = fire_ats[i] then
                    s.waiting_fire_at := null;
                end if;
            elsif s.overlap = 'queue-one' and s.waiting_fire_at is null then
                s.waiting_fire_at := fire_ats[i];
            end if;
        end loop;
    end if;
    update {schema}.schedules f
    set version = f.version + 1, next_fire_at = fire_schedule.next_fire_at,
        last_fire_at = s.last_fire_at, last_run_id = s.last_run_id, waiting_fire_at = s.waiting_fire_at
    where f.schedule_id = s.schedule_id;
end
$$;
comment on function {schema}.fire_schedule is
    'Creates the runs of a schedule''s fire times exactly once; false if another scheduler fired or changed it first.';
