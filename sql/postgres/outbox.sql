-- The outbox.

-- call: publish_batch
-- call: list_outbox -> outbox_event
-- call: claim_outbox = claim_outbox_from -> claimed_event
-- call: report_outbox
-- call: retry_parked
