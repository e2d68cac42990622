-- Runs that have lost their messages or tasks; restored backups.

-- call: find_lost_runs
-- call: repair_runs
-- call: restored
