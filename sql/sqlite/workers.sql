-- Workers: registration, heartbeats and operations of operators.

-- name: register_worker(name, host, port, pid, lease_ms, subscriptions, handlers, now)
insert into pawl_workers
    (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, heartbeat_at)
values (@name, @host, @port, @pid, 'READY', @lease_ms, @subscriptions, @handlers, @now, @now);

-- name: heartbeat(worker_id, now) -> (status, beats)
update pawl_workers set heartbeat_at = @now, beats = beats + 1 where worker_id = @worker_id
returning status, beats;

-- name: worker_status(worker_id)
select status from pawl_workers where worker_id = @worker_id;

-- name: next_worker_status(from_status, event)
select to_status from pawl_worker_transitions where from_status = @from_status and event = @event;

-- An operator's event is no sign of life: `heard_at` is null.
-- name: set_worker_status(worker_id, status, heard_at)
update pawl_workers set status = @status, heartbeat_at = coalesce(@heard_at, heartbeat_at)
where worker_id = @worker_id and status <> @status;

-- name: list_workers(only_worker, now) -> worker
select worker_id, name, host, port, pid, status,
       status <> 'STOPPED' and heartbeat_at + lease_ms * 1000 < @now as lost,
       lease_ms, subscriptions, handlers, started_at, heartbeat_at
from pawl_workers
where @only_worker is null or worker_id = @only_worker
order by worker_id;

-- name: purge_workers(now, heard_before)
delete from pawl_workers
where (status = 'STOPPED' or heartbeat_at + lease_ms * 1000 < @now)
  and heartbeat_at <= @heard_before;

-- The number of live workers with a handler, for each name of a queue.
-- name: count_handlers(now) -> (queue, workers)
select h.value as queue, count(*) as workers
from pawl_workers w indexed by pawl_workers_live,
     json_each(case when json_valid(w.handlers) then w.handlers else '[]' end) h
where w.status <> 'STOPPED' and w.heartbeat_at + w.lease_ms * 1000 >= @now
group by h.value;

-- name: count_workers(now) -> (live, lost)
select count(*) filter (where heartbeat_at + lease_ms * 1000 >= @now) as live,
       count(*) filter (where heartbeat_at + lease_ms * 1000 < @now) as lost
from pawl_workers indexed by pawl_workers_live where status <> 'STOPPED';

-- name: count_stopped_workers(max_rows)
select count(*) from (select 1 from pawl_workers where status = 'STOPPED' limit @max_rows);
