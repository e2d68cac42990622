-- A flow in plain SQL: declared, started and executed without another language. In a database where pawl is installed:
--   psql -X -q -f examples/sql/flow.sql DATABASE_URL
\set ON_ERROR_STOP on
\pset footer off

-- Once, for example in a migration. Repeating it is a no-op. Times are in seconds.
do $$
begin
    perform pawl.create_flow('web_analysis', max_attempts => 3, base_delay => 5, timeout => 60);
    perform pawl.add_step('web_analysis', 'fetch_url');
    perform pawl.add_step('web_analysis', 'list_images', deps => array['fetch_url']);
    perform pawl.add_step('web_analysis', 'resize', deps => array['list_images'], step_type => 'map');
    perform pawl.add_step('web_analysis', 'translate', deps => array['fetch_url'],
        required_input_pattern => '{"fetch_url":{"language":"de"}}');
    perform pawl.add_step('web_analysis', 'create_report', deps => array['resize', 'translate']);
end
$$;

\echo '--- a run, and the state of each of its steps'
select run_id, status, remaining_steps
from pawl.start_flow('web_analysis', '{"url":"https://example.com"}', idempotency_key => 'example.com') \gset
select :'status' as status, :remaining_steps as remaining_steps;

-- A worker's loop: claim tasks, execute them, and report each with its delivery.
\echo '--- the first task'
select step_slug, task_index, attempts, delivery, input from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5);
select pawl.complete_task(:run_id, 'fetch_url', 0, '{"status":200,"language":"en"}', delivery => 1) as outcome;
\echo '--- the same report again'
select pawl.complete_task(:run_id, 'fetch_url', 0, '{"status":500}', delivery => 1) as outcome;

\echo '--- its dependents have started; translate was skipped: the page is not German'
select step_slug, input from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5);
select pawl.complete_task(:run_id, 'list_images', 0, '["ape.png","bear.png"]', delivery => 1) as outcome;

\echo '--- a map: one task per element; here claimed and completed in one statement'
select t.step_slug, t.task_index, t.input, pawl.complete_task(
    t.run_id, t.step_slug, t.task_index, to_json('small/' || (t.input #>> '{}')), t.delivery) as outcome
from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5) t;

\echo '--- the last step fails once'
select step_slug, input from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5);
select pawl.fail_task(:run_id, 'create_report', 0, 'the printer is out of paper', delivery => 1) as outcome;
select count(*) as tasks from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5);
\echo '--- the retry is due after 10 seconds; wake makes it due now'
select pawl.wake(:run_id) \g /dev/null
select step_slug, attempts, delivery from pawl.poll_for_tasks('web_analysis', vt => 60, qty => 5);
select pawl.complete_task(:run_id, 'create_report', 0, '{"pages":2}', delivery => 2) as outcome;

\echo '--- everything stays readable'
select status, remaining_steps, output from pawl.flow_runs where run_id = :run_id;
select step_slug, status, remaining_tasks, skip_reason, output from pawl.step_states where run_id = :run_id
order by step_index;
select step_slug, task_index, status, attempts, error_message from pawl.list_tasks(:run_id);
