
-- The outbox: pages by status, type and aggregate read one index each.
create index pawl_outbox_status on pawl_outbox (status, outbox_id);
create index pawl_outbox_type on pawl_outbox (status, type, outbox_id);
create index pawl_outbox_aggregate on pawl_outbox (status, aggregate, outbox_id);
drop index pawl_outbox_parked;
-- flow_steps.feeds_map of PostgreSQL is not needed here: the flow's plan in memory knows it.

-- A task that a worker holds uses no attempt when the worker crashes: strikes decide, as for runs.
update pawl_queues set max_strikes = 5
where max_strikes = 1000 and queue_id in (select workflow_id from pawl_workflows where is_flow = 1);
