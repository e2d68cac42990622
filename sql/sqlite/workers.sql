-- Workers: who works, and what an operator may do with them.

-- name: register_worker(name, host, port, pid, lease_ms, subscriptions, handlers, now)
insert into pawl_workers
    (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, heartbeat_at)
values (@name, @host, @port, @pid, 'READY', @lease_ms, @subscriptions, @handlers, @now, @now);

-- name: heartbeat(worker_id, now)
update pawl_workers set heartbeat_at = @now where worker_id = @worker_id returning status;

-- name: worker_status(worker_id)
select status from pawl_workers where worker_id = @worker_id;

-- name: next_worker_status(from_status, event)
select to_status from pawl_worker_transitions where from_status = @from_status and event = @event;

-- name: set_worker_status(worker_id, status, now)
update pawl_workers set status = @status, heartbeat_at = @now
where worker_id = @worker_id and status <> @status;

-- name: list_workers(only_worker, now)
select worker_id, name, host, port, pid, status,
       status <> 'STOPPED' and heartbeat_at + lease_ms * 1000 < @now,
       lease_ms, subscriptions, handlers, started_at, heartbeat_at
from pawl_workers
where @only_worker is null or worker_id = @only_worker
order by worker_id;

-- name: purge_workers(now, heard_before)
delete from pawl_workers
where (status = 'STOPPED' or heartbeat_at + lease_ms * 1000 < @now)
  and heartbeat_at <= @heard_before;

-- name: worker_stats(now)
select count(*) filter (where status <> 'STOPPED' and heartbeat_at + lease_ms * 1000 >= @now),
       count(*) filter (where status <> 'STOPPED' and heartbeat_at + lease_ms * 1000 < @now),
       count(*) filter (where status = 'STOPPED')
from pawl_workers;
