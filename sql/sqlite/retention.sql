-- Retention policies, and the statements of a pass of pruning. The rules are described in
-- sql/postgres/functions/retention/retention.sql and retention/prune.sql.

-- name: delete_retention(queue_id, kind)
delete from pawl_retention where coalesce(queue_id, 0) = coalesce(@queue_id, 0) and kind = @kind;

-- name: insert_retention(queue_id, kind, keep_ms, keep_count)
insert into pawl_retention (queue_id, kind, keep_ms, keep_count)
values (@queue_id, @kind, @keep_ms, @keep_count);

-- name: list_retention() -> (kind, name, keep_ms, keep_count)
select r.kind, coalesce(q.name, case when r.kind in ('outbox', 'deleted', 'workers') then '' else '*' end) as name,
       nullif(r.keep_ms, {rule:longest_kept_ms}) as keep_ms, r.keep_count
from pawl_retention r
left join pawl_queues q on q.queue_id = r.queue_id
where r.inherited = 0
order by 2, r.kind;

-- Whether there is a policy for all, or a policy inherited from one.
-- name: has_general_retention()
select 1 from pawl_retention
where inherited = 1 or (queue_id is null and kind not in ('outbox', 'deleted', 'workers'))
limit 1;

-- name: drop_inherited_retention()
delete from pawl_retention
where inherited = 1 and not exists (
    select 1 from pawl_retention a
    where a.queue_id is null and a.kind = pawl_retention.kind
      and a.keep_ms is pawl_retention.keep_ms and a.keep_count is pawl_retention.keep_count
);

-- name: inherit_retention()
insert or ignore into pawl_retention (queue_id, kind, keep_ms, keep_count, inherited)
select q.queue_id, a.kind, a.keep_ms, a.keep_count, 1
from pawl_retention a
cross join pawl_queues q
where a.queue_id is null
  and case when exists (select 1 from pawl_workflows w where w.workflow_id = q.queue_id)
           then a.kind in ('success', 'failed', 'events') else a.kind in ('archive', 'dead-letters') end;

-- name: find_retention(queue_id, kind) -> (retention_id, keep_ms, bound_at, bound_id, done_at)
select retention_id, keep_ms, bound_at, bound_id, done_at
from pawl_retention
where coalesce(queue_id, 0) = coalesce(@queue_id, 0) and kind = @kind;

-- In the order of a pass: events before the runs to which they belong, so that a dry run counts the same rows.
-- name: prune_plan() -> (kind, queue_id, queue, keep_count)
select r.kind, coalesce(r.queue_id, 0) as queue_id, coalesce(q.name, '') as queue, r.keep_count
from pawl_retention r
left join pawl_queues q on q.queue_id = r.queue_id
where r.queue_id is not null or r.kind in ('outbox', 'deleted', 'workers')
order by r.kind <> 'events', r.retention_id;

-- name: set_bound(queue_id, kind, bound_at, bound_id)
update pawl_retention set bound_at = @bound_at, bound_id = @bound_id
where coalesce(queue_id, 0) = coalesce(@queue_id, 0) and kind = @kind;

-- name: set_done(retention_id, done_at)
update pawl_retention set done_at = @done_at where retention_id = @retention_id;

-- The bound of a policy by count: the newest row that is removed.
-- name: success_bound(queue_id, keep_count) -> prune_position
select completed_at as at, run_id as id from pawl_runs indexed by pawl_runs_success_ended
where workflow_id = @queue_id and completed_at is not null and error is null and deleted_at is null
order by completed_at desc, run_id desc limit 1 offset @keep_count;

-- name: failed_bound(queue_id, keep_count) -> prune_position
select completed_at as at, run_id as id from pawl_runs indexed by pawl_runs_failed_ended
where workflow_id = @queue_id and completed_at is not null and error is not null and deleted_at is null
order by completed_at desc, run_id desc limit 1 offset @keep_count;

-- name: archive_bound(queue_id, keep_count) -> prune_position
select archived_at as at, message_id as id from pawl_archive indexed by pawl_archive_aged
where queue_id = @queue_id and dead = 0
order by archived_at desc, message_id desc limit 1 offset @keep_count;

-- name: dead_letters_bound(queue_id, keep_count) -> prune_position
select archived_at as at, message_id as id from pawl_archive indexed by pawl_archive_dead_aged
where queue_id = @queue_id and dead = 1
order by archived_at desc, message_id desc limit 1 offset @keep_count;

-- name: outbox_bound(queue_id, keep_count) -> prune_position
select published_at as at, outbox_id as id from pawl_outbox indexed by pawl_outbox_published
where status = 'PUBLISHED' and @queue_id is null
order by published_at desc, outbox_id desc limit 1 offset @keep_count;

-- The next rows between two positions.
-- name: success_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select completed_at as at, run_id as id from pawl_runs indexed by pawl_runs_success_ended
where workflow_id = @queue_id and completed_at is not null and error is null
  and (completed_at, run_id) > (@after_at, @after_id) and (completed_at, run_id) <= (@until_at, @until_id)
order by completed_at, run_id limit @max_rows;

-- name: failed_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select completed_at as at, run_id as id from pawl_runs indexed by pawl_runs_failed_ended
where workflow_id = @queue_id and completed_at is not null and error is not null
  and (completed_at, run_id) > (@after_at, @after_id) and (completed_at, run_id) <= (@until_at, @until_id)
order by completed_at, run_id limit @max_rows;

-- name: deleted_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select deleted_at as at, run_id as id from pawl_runs indexed by pawl_runs_deleted
where deleted_at is not null and @queue_id is null
  and (deleted_at, run_id) > (@after_at, @after_id) and (deleted_at, run_id) <= (@until_at, @until_id)
order by deleted_at, run_id limit @max_rows;

-- name: archive_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select archived_at as at, message_id as id from pawl_archive indexed by pawl_archive_aged
where queue_id = @queue_id and dead = 0
  and (archived_at, message_id) > (@after_at, @after_id)
  and (archived_at, message_id) <= (@until_at, @until_id)
order by archived_at, message_id limit @max_rows;

-- name: dead_letters_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select archived_at as at, message_id as id from pawl_archive indexed by pawl_archive_dead_aged
where queue_id = @queue_id and dead = 1
  and (archived_at, message_id) > (@after_at, @after_id)
  and (archived_at, message_id) <= (@until_at, @until_id)
order by archived_at, message_id limit @max_rows;

-- name: outbox_candidates(queue_id, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select published_at as at, outbox_id as id from pawl_outbox indexed by pawl_outbox_published
where status = 'PUBLISHED' and @queue_id is null
  and (published_at, outbox_id) > (@after_at, @after_id)
  and (published_at, outbox_id) <= (@until_at, @until_id)
order by published_at, outbox_id limit @max_rows;

-- name: worker_candidates(now, after_at, after_id, until_at, until_id, max_rows) -> prune_position
select heartbeat_at as at, worker_id as id from pawl_workers indexed by pawl_workers_heard
where (status = 'STOPPED' or heartbeat_at + lease_ms * 1000 < @now)
  and (heartbeat_at, worker_id) > (@after_at, @after_id) and (heartbeat_at, worker_id) <= (@until_at, @until_id)
order by heartbeat_at, worker_id limit @max_rows;

-- Excluded are live runs, and runs that a live run still needs: those that it has called, and those that it has started
-- and would start again under their key.
-- name: run_is_prunable(run_id, soft_deleted)
select 1 from pawl_runs r
where r.run_id = @run_id and r.completed_at is not null and (r.deleted_at is not null) = @soft_deleted
  and not exists (select 1 from pawl_runs p where p.run_id = r.parent_run_id and p.completed_at is null)
  and not exists (select 1 from pawl_calls c where c.run_id = r.run_id);

-- name: count_run_events(run_id)
select count(*) from pawl_events where run_id = @run_id;

-- name: delete_run_steps(run_id)
delete from pawl_steps where run_id = @run_id;

-- name: delete_run_tasks(run_id)
delete from pawl_tasks where run_id = @run_id;

-- name: delete_run_tags(run_id)
delete from pawl_run_tags where run_id = @run_id;

-- name: delete_run_signals(run_id)
delete from pawl_signals where run_id = @run_id;

-- name: delete_run_events(run_id)
delete from pawl_events where run_id = @run_id;

-- name: delete_run_calls(run_id)
delete from pawl_calls where caller_run_id = @run_id;

-- name: delete_run_row(run_id)
delete from pawl_runs where run_id = @run_id;

-- name: delete_archived(message_id)
delete from pawl_archive where message_id = @message_id;

-- name: delete_outbox_event(outbox_id)
delete from pawl_outbox where outbox_id = @outbox_id;

-- name: delete_worker(worker_id)
delete from pawl_workers where worker_id = @worker_id;

-- name: prune_due()
select due_at from pawl_prune_turn;

-- name: claim_prune(due_at)
update pawl_prune_turn set due_at = @due_at;
