-- Schedules.

-- call: list_schedules
-- call: save_schedule
-- call: delete_schedule
-- call: due_schedules
-- call: fire_schedule
