-- Runs whose messages or tasks are lost; restored backups.

-- call: find_lost_runs
-- call: repair_runs
-- call: restored
