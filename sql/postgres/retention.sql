-- Retention and pruning.

-- call: set_retention
-- call: clear_retention
-- call: list_retention
-- call: plan_prune
-- call: prune_batch
-- call: claim_prune
