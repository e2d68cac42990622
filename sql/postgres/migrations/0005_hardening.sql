
-- The outbox: the position of a claim is a time and a number. Pages by status, type and aggregate read one
-- index each; outbox_settled leaves pending events to outbox_pending.
drop index {schema}.outbox_due;
create index outbox_due on {schema}.outbox (visible_at, outbox_id) where status = 'PENDING';
create index outbox_pending_id on {schema}.outbox (outbox_id) where status = 'PENDING';
create index outbox_type on {schema}.outbox (status, type, outbox_id);
create index outbox_settled on {schema}.outbox (status, aggregate, outbox_id) where status <> 'PENDING';
