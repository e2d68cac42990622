// Messages that C++ and SQL both give: errors, and the reasons that are stored with runs, tasks and
// messages. C++ formats them with fmt; tools/embed_sql.py replaces {text:name} in sql/, where a
// value is % in the format of a RAISE and %s in format(). A text has the form
//     inline constexpr std::string_view name = "...";
// with plain {} for values. The build fails for a name that is not declared here and for a text
// that C++ or SQL does not use: then it belongs to the other one alone.
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
    "a traceparent is 00-<32 hexadecimal digits>-<16>-<2>, in lower case: see W3C trace context";
inline constexpr std::string_view task_attempts = "{}: max_attempts must be 0 (no retry) to {}";
inline constexpr std::string_view name =
    "invalid {} name '{}': use 1 to {} letters, digits, '_', '-', '.', ':', not starting with '.'";
inline constexpr std::string_view slug =
    "invalid {} slug '{}': use 1 to {} letters, digits and '_', not starting with a digit";
inline constexpr std::string_view slug_run = "invalid {} slug 'run': it names the run's input";

// Queues and messages.
inline constexpr std::string_view queue_missing = "queue '{}' does not exist: create it first";
inline constexpr std::string_view queue_of_workflow =
    "queue '{}' belongs to a workflow: trigger it instead";
inline constexpr std::string_view queue_of_tasks =
    "queue '{}' carries the tasks of a flow: take them with poll_for_tasks()";
inline constexpr std::string_view queue_of_runs =
    "queue '{}' carries the runs of a workflow: a worker with a handler takes them";
inline constexpr std::string_view queue_not_empty =
    "queue '{}' holds {} messages and {} dead letters: settle or purge them, or force it";
inline constexpr std::string_view queue_forwards_to_itself =
    "queue '{}': cannot be its own dead letter queue";
inline constexpr std::string_view unreported = "handed out {} times without a report";
inline constexpr std::string_view failed_times = "failed {} times: {}";

// Workflows.
inline constexpr std::string_view workflow_missing =
    "workflow '{}' does not exist: create it first";
inline constexpr std::string_view workflow_has_runs =
    "workflow '{}' has {} live runs: cancel them, or let them end";
inline constexpr std::string_view workflow_forwards_to_itself =
    "workflow '{}': cannot be its own dead letter workflow";
inline constexpr std::string_view dead_letter_cycle =
    "workflow '{}': its dead letter workflow leads back to it ({}): end the chain of dead letter "
    "workflows somewhere";
inline constexpr std::string_view not_a_workflow =
    "queue '{}' exists and is not a workflow's: choose another name";
inline constexpr std::string_view workflow_is_flow =
    "'{}' is a flow: create_flow changes its options; only dead_letter_workflow, audit and publish "
    "are set here";
inline constexpr std::string_view no_live_handler =
    "no live worker has a handler for workflow '{}'";

// Runs and steps.
inline constexpr std::string_view run_missing = "run {} does not exist";
inline constexpr std::string_view run_deleted =
    "run {} is deleted: trigger its workflow again instead";
inline constexpr std::string_view run_ended =
    "run {} is {}: it has ended and never changes; retry or fork it instead";
inline constexpr std::string_view run_lost_message =
    "run {} is {} but has no message: restore it with repair() (pawl doctor --repair)";
inline constexpr std::string_view run_not_failed =
    "run {} is {}: only an ERROR or CANCELLED run can be retried; fork takes any";
inline constexpr std::string_view run_without_step =
    "run {} has no step '{}': fork from one of its steps";
inline constexpr std::string_view run_of_flow = "run {} is a flow's: a flow's steps are not paused";
inline constexpr std::string_view step_ended = "step '{}' of run {} is {}: the first result counts";
inline constexpr std::string_view step_sleeps =
    "step '{}' of run {} is a sleep: it ends at its time";
inline constexpr std::string_view step_calls =
    "step '{}' of run {} waits for run {}: it ends when that run does";
inline constexpr std::string_view step_resumed =
    "step '{}' of run {} has been resumed already: the first result counts";
inline constexpr std::string_view step_not_waiting =
    "step '{}' of run {} does not wait for a resume: the run {}; only an early resume is kept for "
    "a later pause";
inline constexpr std::string_view called_run_ended = "run {} of workflow '{}' ended as {}: {}";
inline constexpr std::string_view caller_ended = "run {}, which waited for it, is {}";
inline constexpr std::string_view waits_for_workflow = "waits for a run of workflow '{}'";

// Flows and tasks.
inline constexpr std::string_view flow_missing = "flow '{}' does not exist: create it first";
inline constexpr std::string_view flow_has_runs =
    "flow '{}' has {} live runs: cancel them, let them end, or force it";
inline constexpr std::string_view flow_differs =
    "flow '{}' exists and differs: {}; a new name is a new version";
inline constexpr std::string_view step_of_flow_differs =
    "step '{}' of flow '{}' exists and differs: {}; a new name is a new version";
inline constexpr std::string_view not_json = "{}: {} is not JSON: {}";
inline constexpr std::string_view value_differs = "{} is {}, not {}";
inline constexpr std::string_view step_differs = "step {} is '{}', not '{}'";
inline constexpr std::string_view steps_differ = "it has {} steps, not {}";
inline constexpr std::string_view task_unreported = "no report within its lease (attempt {})";
inline constexpr std::string_view condition_unmet = "the condition of step '{}' is not met";
inline constexpr std::string_view condition_failed =
    "the condition of step '{}' cannot be checked: {}";
inline constexpr std::string_view map_needs_array = "map step '{}' needs an array: {} is none";
inline constexpr std::string_view step_must_return_array =
    "step '{}' must return an array: map step '{}' has one task per element";
inline constexpr std::string_view input_must_be_array =
    "the input of flow '{}' must be a JSON array: its map step '{}' has one task per element";

// Workers, schedules, outbox, retention.
inline constexpr std::string_view worker_missing = "worker {} does not exist";
inline constexpr std::string_view worker_cannot = "worker {} is {}: {} is not possible";
inline constexpr std::string_view worker_is_live =
    "worker {} is {}: only a stopped or lost worker can be deleted; stop it first";
inline constexpr std::string_view schedule_missing = "schedule '{}' does not exist";
inline constexpr std::string_view event_not_parked = "no parked event has the number {}";
inline constexpr std::string_view retention_of_store =
    "retention of {} is of the whole store: name no queue or workflow";
inline constexpr std::string_view retention_of_one =
    "retention of {} is of a {}: name one, or '*' for all";
inline constexpr std::string_view retention_age = "retention of {}: age must be 0 to 100 years";
inline constexpr std::string_view retention_count = "retention of {}: count must be 0 to {}";
inline constexpr std::string_view retention_by_age =
    "retention of {} goes by age alone: give no count";
inline constexpr std::string_view no_archive =
    "queue '{}' belongs to a workflow and has no archive: set success, failed or events";

}  // namespace pawl::model::texts
