-- Reports of the holder of a message.

-- call: archive
-- call: remove = delete
-- call: release(message_ids, deliveries, repeated, ...)
-- call: hand_back
-- call: fail_or_bury(message_ids, deliveries, repeated, delays_ms, ...)
-- call: bury(message_ids, deliveries, repeated, ...)
-- call: extend
-- call: settle
