-- Drops helpers of earlier versions that were removed or renamed, or whose parameters or result changed, which `create
-- or replace` cannot do. Only functions whose comment marks them as helpers (`Internal: `) are dropped, before the
-- files that define them again. A helper on which an object of a user depends is kept.
do $$
declare
    removed regprocedure;
begin
    for removed in
        select p.oid from pg_proc p
        where p.pronamespace = '{schema}'::regnamespace and obj_description(p.oid, 'pg_proc') like 'Internal: %'
          and p.proname in (
              'advance_lines', 'by_whom', 'cancel_child', 'cascade_taken_over', 'check_attempts',
              'claim_queues', 'complete_held_tasks', 'end_calls_of_ended', 'end_failed_steps',
              'fail_producers', 'flow_after_special', 'flow_cascade', 'flow_end_as_error',
              'flow_fail_runs', 'flow_go_on', 'flow_start_runs', 'flow_start_special', 'free_lines', 'free_to_bury',
              'free_to_end', 'groups_of', 'json_proof', 'json_words', 'lock_called', 'lock_leases', 'lock_siblings',
              'outbox_lock_key', 'readable', 'task_fates', 'tell_of_flows', 'tell_of_run', 'trigger_called', 'trigger_mixed',
              'trigger_plain', 'trigger_schedule', 'trigger_unasked', 'unless_caller_busy')
    loop
        begin
            execute format('drop function %s', removed);
        exception when dependent_objects_still_exist then
            null;
        end;
    end loop;
end
$$;
