
-- The outbox: pages by status, type and aggregate read one index each.
create index pawl_outbox_status on pawl_outbox (status, outbox_id);
create index pawl_outbox_type on pawl_outbox (status, type, outbox_id);
create index pawl_outbox_aggregate on pawl_outbox (status, aggregate, outbox_id);
drop index pawl_outbox_parked;
-- flow_steps.feeds_map of PostgreSQL is not needed here: the flow's plan in memory knows it.
