-- The outbox.

-- call: publish_batch
-- call: list_outbox
-- call: claim_outbox = claim_outbox_from
-- call: report_outbox
-- call: retry_parked
