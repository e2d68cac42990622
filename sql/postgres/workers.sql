-- Workers: their rows, their heartbeats and the messages that they hold.

-- call: heartbeat = beat_worker
-- call: register_worker
-- call: transition_worker
-- call: list_workers -> worker
-- call: purge_workers
-- call: delete_worker
-- call: list_held -> message
-- call: worker_counts
