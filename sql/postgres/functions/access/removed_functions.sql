-- Helpers of earlier versions: renamed, removed, or with other parameters or results now, which `create or replace` does
-- not change. Only functions that are marked as ours (`Internal: `) are dropped, before the files that define them anew. A
-- helper that something of a user depends on stays.
do $$
declare
    removed regprocedure;
begin
    for removed in
        select p.oid from pg_proc p
        where p.pronamespace = '{schema}'::regnamespace and obj_description(p.oid, 'pg_proc') like 'Internal: %'
          and p.proname in (
              'advance_lines', 'by_whom', 'check_attempts', 'claim_queues', 'complete_held_tasks', 'end_failed_steps',
              'fail_producers', 'flow_after_special', 'flow_cascade', 'flow_end_as_error', 'flow_fail_runs', 'flow_go_on',
              'flow_start_runs', 'flow_start_special', 'task_fates', 'tell_of_flows', 'tell_of_run', 'trigger_called',
              'trigger_mixed', 'trigger_plain', 'trigger_schedule', 'unless_caller_busy', 'lock_called', 'lock_siblings')
    loop
        begin
            execute format('drop function %s', removed);
        exception when dependent_objects_still_exist then
            null;
        end;
    end loop;
end
$$;
