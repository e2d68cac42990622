-- Schedules.

-- shared call: list_schedules -> schedule
-- call: save_schedule
-- call: delete_schedule
-- call: due_schedules -> due_schedule
-- call: fire_schedule
