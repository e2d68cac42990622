-- Following a run: its events are sent by NOTIFY, for progress displays.
--
-- A followed run keeps the events of its tasks and its end at every audit level, and each of its events is sent on
-- the channel pawl_<schema>_events. If no run is followed, this costs one lookup in an empty index per batch of tasks,
-- and nothing in the statements of code-first runs.

create or replace function {schema}.follow_run(run_id bigint, seconds numeric default 3600) returns void
language plpgsql
as $$
#variable_conflict use_variable
declare
    now_at timestamptz := {schema}.clock();
begin
    if seconds is null or seconds not between 1 and 86400 then
        raise exception 'seconds must be 1 to 86400' using errcode = 'PW003';
    elsif octet_length('pawl_{schema_name}_events') > 63 then
        raise exception 'the name of schema ''{schema_name}'' is too long for a channel; use at most 51 bytes'
            using errcode = 'PW003';
    elsif not exists (select from {schema}.runs r where r.run_id = follow_run.run_id and r.deleted_at is null) then
        raise exception '{text:run_missing}', run_id using errcode = 'PW010';
    end if;
    perform set_config('synchronous_commit', 'off', true);
    delete from {schema}.followed_runs f where f.until <= now_at;
    insert into {schema}.followed_runs (run_id, until)
    values (run_id, now_at + seconds * interval '1 second')
    on conflict on constraint followed_runs_pkey do update set until = excluded.until;
end
$$;
comment on function {schema}.follow_run is
    'Requests a NOTIFY on pawl_<schema>_events for each event of a run, for some time. Read the run after this call.';

create or replace function {schema}.unfollow_run(run_id bigint) returns void
language sql
as $$ delete from {schema}.followed_runs f where f.run_id = unfollow_run.run_id $$;
comment on function {schema}.unfollow_run is 'Ends follow_run.';

-- A payload has at most 8,000 bytes: longer data is omitted and can be read with list_events.
create or replace function {schema}.send_events() returns trigger
language plpgsql
as $$
begin
    if exists (select from {schema}.followed_runs) then
        perform pg_notify('pawl_{schema_name}' || '_events', format(
            '{"run_id":%s,"event_id":%s,"kind":%s,"at":%s,"data":%s}', e.run_id, e.event_id, to_json(e.kind),
            to_json(e.at), case when octet_length(e.data) <= 7000 then {schema}.as_json(e.data) else 'null' end))
        from new_events e
        join {schema}.followed_runs f on f.run_id = e.run_id and f.until > {schema}.clock()
        order by e.event_id;
    end if;
    return null;
end
$$;
comment on function {schema}.send_events is 'Internal: sends the events of followed runs.';

do $$
begin
    if not exists (
        select from pg_trigger t where t.tgrelid = '{schema}.events'::regclass and t.tgname = 'events_follow'
    ) then
        create trigger events_follow after insert on {schema}.events referencing new table as new_events
            for each statement execute function {schema}.send_events();
    end if;
end
$$;
