// Messages that both C++ and SQL produce: errors, and reasons stored with runs, tasks and messages.
// C++ formats them with fmt; tools/embed_sql.py replaces {text:name} in sql/, with % for a value in
// the format of a RAISE and %s in format(). A text has the form
//     inline constexpr std::string_view name = "...";
// with plain {} for values. The build fails for a name that is not declared here, and for a text
// that C++ or SQL does not use: such a text is declared where it is used.
#pragma once

#include <string_view>

namespace pawl::model::texts {

// Bounds.
inline constexpr std::string_view bytes_of_text = "{} must be 1 to {} bytes of UTF-8";
inline constexpr std::string_view negative = "{} must not be negative";
inline constexpr std::string_view too_long = "{} is longer than 100 years";
inline constexpr std::string_view years = "{} must lie between the years {} and {}";
inline constexpr std::string_view priority = "priority must be {} to {}";
inline constexpr std::string_view tags = "a run has at most {} tags";
inline constexpr std::string_view traceparent =
    "invalid traceparent: use 00-<32 hexadecimal digits>-<16>-<2> in lower case, see W3C Trace "
    "Context";
inline constexpr std::string_view task_attempts = "{}: max_attempts must be 0 (no retry) to {}";
inline constexpr std::string_view name =
    "invalid {} name '{}': use 1 to {} letters, digits, '_', '-', '.', ':', not starting with '.'";
inline constexpr std::string_view slug =
    "invalid {} slug '{}': use 1 to {} letters, digits and '_', not starting with a digit";
inline constexpr std::string_view slug_run =
    "invalid {} slug 'run': it is reserved for the run's input";

// Queues and messages.
inline constexpr std::string_view queue_missing =
    "queue '{}' does not exist; create it with store.create_queue(\"{}\")";
inline constexpr std::string_view queue_of_workflow =
    "queue '{}' belongs to a workflow; use the workflow's operations (create, trigger, cancel, "
    "delete) instead";
inline constexpr std::string_view queue_of_tasks =
    "queue '{}' carries the tasks of a flow; get them with poll_for_tasks()";
inline constexpr std::string_view queue_of_runs =
    "queue '{}' carries the runs of a workflow; start a worker with a handler for it";
inline constexpr std::string_view queue_not_empty =
    "queue '{}' has {} messages and {} dead letters; settle or purge them, or force the deletion";
inline constexpr std::string_view queue_forwards_to_itself =
    "queue '{}' cannot be its own dead letter queue";
inline constexpr std::string_view unreported = "delivered {} times without a report";
inline constexpr std::string_view failed_times = "failed {} times: {}";

// Workflows.
inline constexpr std::string_view workflow_missing =
    "workflow '{}' does not exist; create it with store.create_workflow(\"{}\")";
inline constexpr std::string_view workflow_has_runs =
    "workflow '{}' has {} live runs; cancel them or wait until they end";
inline constexpr std::string_view workflow_forwards_to_itself =
    "workflow '{}' cannot be its own dead letter workflow";
inline constexpr std::string_view dead_letter_cycle =
    "workflow '{}': its chain of dead letter workflows leads back to it ({}); choose another dead "
    "letter workflow";
inline constexpr std::string_view not_a_workflow =
    "queue '{}' exists and does not belong to a workflow; choose another name";
inline constexpr std::string_view workflow_is_flow =
    "'{}' is a flow; change its options with create_flow(), except dead_letter_workflow, audit and"
    " publish";
inline constexpr std::string_view no_live_handler =
    "no live worker has a handler for workflow '{}'";

// Runs and steps.
inline constexpr std::string_view waits_at = "waits at step '{}'";
inline constexpr std::string_view waits_at_call = "waits at step '{}' for run {}";
inline constexpr std::string_view sleeps_at = "sleeps at step '{}'";
inline constexpr std::string_view task_waits_no_longer =
    "task {} of step '{}' of run {} no longer waits for this run";
inline constexpr std::string_view flow_deleted = "its flow was deleted";
inline constexpr std::string_view input_of_run = "the run's input";
inline constexpr std::string_view output_of_step = "the output of step '{}'";
inline constexpr std::string_view run_missing =
    "run {} does not exist, or retention removed it; list the runs with store.runs()";
inline constexpr std::string_view run_deleted =
    "run {} is deleted; trigger its workflow again instead";
inline constexpr std::string_view run_ended =
    "run {} has ended as {} and cannot be changed; fork it, or retry it if it failed or was "
    "cancelled";
inline constexpr std::string_view run_lost_message =
    "run {} is {} but has no message; restore it with repair() (pawl doctor --repair)";
inline constexpr std::string_view run_not_failed =
    "run {} is {}; only an ERROR or CANCELLED run can be retried, use fork() instead";
inline constexpr std::string_view run_without_step =
    "run {} has no step '{}'; fork from one of its steps";
inline constexpr std::string_view run_of_flow =
    "run {} belongs to a flow, whose steps cannot be paused or resumed";
inline constexpr std::string_view step_ended =
    "step '{}' of run {} is already {}; its result cannot be changed";
inline constexpr std::string_view step_sleeps =
    "step '{}' of run {} is a sleep and cannot be resumed";
inline constexpr std::string_view step_calls =
    "step '{}' of run {} waits for run {}: it ends when that run does";
inline constexpr std::string_view step_resumed =
    "step '{}' of run {} was already resumed; only the first resume counts";
inline constexpr std::string_view step_not_waiting =
    "step '{}' of run {} does not wait for a resume: the run {}; only an early resume is kept for "
    "a later pause";
inline constexpr std::string_view called_run_ended = "run {} of workflow '{}' ended as {}: {}";
inline constexpr std::string_view caller_ended = "the calling run {} is {}";
inline constexpr std::string_view waits_for_workflow = "waits for a run of workflow '{}'";

// Flows and tasks.
inline constexpr std::string_view flow_missing =
    "flow '{}' does not exist; create it with store.create_flow(\"{}\"), or use trigger() if it is "
    "a "
    "workflow in code";
inline constexpr std::string_view not_a_flow =
    "{} '{}' exists and is not a flow; choose another name";
inline constexpr std::string_view flow_has_runs =
    "flow '{}' has {} live runs; cancel them, wait until they end, or force the deletion";
inline constexpr std::string_view flow_differs =
    "flow '{}' exists and differs: {}; use a new name for a new version";
inline constexpr std::string_view step_of_flow_differs =
    "step '{}' of flow '{}' exists and differs: {}; use a new name for a new version";
inline constexpr std::string_view step_depends_on_itself = "{} cannot depend on itself";
inline constexpr std::string_view map_depends_on_several =
    "{} is a map step and can depend on at most one step";
inline constexpr std::string_view dependency_missing =
    "{} depends on '{}', which the flow does not have; add that step first";
inline constexpr std::string_view not_json = "{}: {} is not JSON: {}";
inline constexpr std::string_view value_differs = "{} is {} in the store, {} in the declaration";
inline constexpr std::string_view step_differs =
    "step {} is '{}' in the store, '{}' in the declaration";
inline constexpr std::string_view steps_differ =
    "it has {} steps in the store, {} in the declaration";
inline constexpr std::string_view task_unreported = "no report within its lease (attempt {})";
inline constexpr std::string_view condition_unmet = "the condition of step '{}' is not met";
inline constexpr std::string_view condition_failed =
    "the condition of step '{}' cannot be checked: {}";
inline constexpr std::string_view map_needs_array =
    "map step '{}' needs an array, but {} is not one";
inline constexpr std::string_view step_must_return_array =
    "step '{}' must return an array: map step '{}' has one task per element";
inline constexpr std::string_view input_must_be_array =
    "the input of flow '{}' must be a JSON array: its map step '{}' has one task per element";

// Workers, schedules, outbox, retention.
inline constexpr std::string_view worker_missing =
    "worker {} does not exist, or its row was removed; list the workers with store.workers()";
inline constexpr std::string_view worker_cannot =
    "worker {} is {}; event '{}' is not allowed in this status";
inline constexpr std::string_view worker_is_live =
    "worker {} is {}; only a stopped or lost worker can be deleted, so stop it first";
inline constexpr std::string_view schedule_missing =
    "schedule '{}' does not exist; create it with store.create_schedule(), or list the schedules "
    "with store.schedules()";
inline constexpr std::string_view event_not_parked =
    "outbox event {} is not parked, or does not exist; only parked events can be retried";
inline constexpr std::string_view retention_of_store =
    "retention of {} applies to the whole store; do not name a queue or workflow";
inline constexpr std::string_view retention_of_one =
    "retention of {} applies to one {}; name it, or use '*' for all";
inline constexpr std::string_view retention_age = "retention of {}: age must be 0 to 100 years";
inline constexpr std::string_view retention_count = "retention of {}: count must be 0 to {}";
inline constexpr std::string_view retention_by_age =
    "retention of {} is by age only; do not set a count";
inline constexpr std::string_view no_archive =
    "queue '{}' belongs to a workflow and has no archive; set retention of kind success, failed or "
    "events instead";

}  // namespace pawl::model::texts
