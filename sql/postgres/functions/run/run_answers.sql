-- Answers to pauses: a resume sets the result of the step at which a run waits. The holder of the run may reject an
-- answer that it cannot decode.

-- For the error message of a resume: "waits at step 'approval'", "sleeps at step 'sleep'", "is RUNNING".
create or replace function {schema}.describe_wait(run_id bigint, status text) returns text
language sql stable
as $$
    select coalesce(
        string_agg(
            case when s.wake_at is not null then format('{text:sleeps_at}', s.step_id)
                 when c.run_id is not null then format('{text:waits_at_call}', s.step_id, c.run_id)
                 else format('{text:waits_at}', s.step_id) end,
            ' and ' order by s.position),
        'is ' || describe_wait.status)
    from {schema}.steps s
    left join {schema}.calls c
        on c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null
    where s.run_id = describe_wait.run_id and s.status = 'PAUSED'
$$;
comment on function {schema}.describe_wait is 'Internal: describes what a live run waits for.';

-- An answer is progress: it resets the attempts of the run. So attempts above 0 mean that the answer was used; see
-- reject_resume().
create or replace function {schema}.resume_step(run_id bigint, step_id text, data json, early boolean) returns void
language plpgsql
as $$
declare
    now_at timestamptz := {schema}.clock();
    run    record;
    step   record;
begin
    perform {schema}.check_text('a step''s id', resume_step.step_id, {rule:max_recorded_id_bytes});
    perform {schema}.require_json(data::text);
    select * into run from {schema}.lock_live_run(resume_step.run_id);
    if {schema}.is_flow_run(resume_step.run_id) then
        raise exception '{text:run_of_flow}', run_id using errcode = 'PW003';
    end if;
    select s.status, s.wake_at, c.run_id as called into step
    from {schema}.steps s
    left join {schema}.calls c
        on c.caller_run_id = s.run_id and c.caller_step = s.step_id and c.caller_task is null
    where s.run_id = resume_step.run_id and s.step_id = resume_step.step_id;
    if step.status in ('SUCCESS', 'ERROR', 'SKIPPED') then
        raise exception '{text:step_ended}', step_id, run_id, step.status
            using errcode = 'PW015';
    elsif step.status = 'PAUSED' and step.wake_at is not null then
        raise exception '{text:step_sleeps}', step_id, run_id
            using errcode = 'PW003';
    elsif step.status = 'PAUSED' and step.called is not null then
        raise exception '{text:step_calls}', step_id, run_id,
            step.called using errcode = 'PW003';
    elsif step.status = 'PAUSED' then
        update {schema}.steps s
        set status = 'SUCCESS', output = coalesce(data::text, 'null'), error = null, completed_at = now_at
        where s.run_id = resume_step.run_id and s.step_id = resume_step.step_id;
        update {schema}.messages m set attempts = 0
        where m.message_id = resume_step.run_id and m.attempts > 0;
        perform {schema}.make_visible(run_id, run.workflow_id, now_at);
        update {schema}.runs r set status = 'RUNNING', paused_at = null, updated_at = now_at
        where r.run_id = resume_step.run_id;
    elsif not early then
        raise exception '{text:step_not_waiting}',
            step_id, run_id, {schema}.describe_wait(run_id, run.status) using errcode = 'PW020';
    else
        insert into {schema}.signals (run_id, step_id, payload, created_at)
        values (resume_step.run_id, resume_step.step_id, coalesce(data::text, 'null'), now_at)
        on conflict do nothing;
        if not found then
            raise exception '{text:step_resumed}',
                step_id, run_id using errcode = 'PW015';
        end if;
    end if;
    perform {schema}.add_event(
        run_id, run.audited, '{event:resumed}', {schema}.with_actor(format('{"step":%s}', to_json(step_id))),
        run.delivery, now_at);
end
$$;
comment on function {schema}.resume_step is 'Internal: implements resume() and resume_early().';

create or replace function {schema}.resume(run_id bigint, step_id text, data json default 'null')
returns void
language sql
as $$ select {schema}.resume_step(run_id, step_id, data, false) $$;
comment on function {schema}.resume(bigint, text, json) is
    'Sets the result of the step at which a run waits, and lets the run continue. Refused if the run does not wait there.';

create or replace function {schema}.resume_early(run_id bigint, step_id text, data json default 'null')
returns void
language sql
as $$ select {schema}.resume_step(run_id, step_id, data, true) $$;
comment on function {schema}.resume_early(bigint, text, json) is
    'Like resume(), but if the run does not wait at the step yet, the data is kept until it pauses there.';

-- The holder of a run cannot decode an answer: the step is paused again, and an event keeps the data. Refused (`used`)
-- if the run has recorded anything after the answer: a later step, or a failed attempt. A repeated call returns `done`
-- again.
create or replace function {schema}.reject_resume(
    run_id bigint, delivery integer, step_id text, message text, check_after_ms bigint default {rule:default_pause_check_ms}
) returns text
language plpgsql
as $$
declare
    now_at   timestamptz := {schema}.clock();
    held     record;
    step     record;
    workflow record;
begin
    perform {schema}.check_text('a step''s id', reject_resume.step_id, {rule:max_recorded_id_bytes});
    perform {schema}.check_given('message', message is null);
    perform {schema}.check_given('check_after_ms', check_after_ms is null);
    perform {schema}.check_range('check_after_ms', check_after_ms, 0, {schema}.longest_ms());
    select m.state, m.attempts, m.worker_id into held
    from {schema}.messages m
    where m.message_id = reject_resume.run_id and m.delivery = reject_resume.delivery and m.run_id is null
    for update;
    if not found then
        return 'lease_lost';
    end if;
    select s.status, s.delivery, s.position, s.output, s.pause_message, s.wake_at into step
    from {schema}.steps s where s.run_id = reject_resume.run_id and s.step_id = reject_resume.step_id;
    if held.state <> 'leased' then
        return case when step.status = 'PAUSED' and step.delivery = reject_resume.delivery then 'done'
                    else 'lease_lost' end;
    end if;
    if step.status is distinct from 'SUCCESS' or step.pause_message is null or step.wake_at is not null
       or held.attempts > 0
       or exists (select from {schema}.steps s
                  where s.run_id = reject_resume.run_id and s.position > step.position) then
        return 'used';
    end if;
    select w.audit <> 'off' as audited, w.publish = 'ends' as publishes,
           r.started_at + {schema}.ms(w.run_timeout_ms) as deadline
    into workflow
    from {schema}.runs r join {schema}.workflows w using (workflow_id) where r.run_id = reject_resume.run_id;
    update {schema}.steps s
    set status = 'PAUSED', output = null, completed_at = null, delivery = reject_resume.delivery,
        worker_id = held.worker_id, pause_message = reject_resume.message
    where s.run_id = reject_resume.run_id and s.step_id = reject_resume.step_id;
    update {schema}.messages m
    set state = 'waiting', strikes = 0, worker_id = null,
        visible_at = greatest(least(now_at + {schema}.ms(check_after_ms), workflow.deadline), now_at)
    where m.message_id = reject_resume.run_id;
    update {schema}.runs r set status = 'PAUSED', paused_at = now_at, updated_at = now_at
    where r.run_id = reject_resume.run_id;
    perform {schema}.add_event(
        run_id, workflow.audited, '{event:resume_rejected}',
        format('{"step":%s,"message":%s,"data":%s}', to_json(step_id), to_json(message), step.output),
        delivery, now_at);
    if workflow.publishes then
        perform {schema}.publish_pauses(array[run_id], array[message], now_at);
    end if;
    return 'done';
end
$$;
comment on function {schema}.reject_resume is
    'Pauses a leased run again at a step whose answer cannot be decoded. Returns done, used or lease_lost.';
