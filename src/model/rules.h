// Numbers shared by C++ and SQL: bounds, defaults, backoff, thresholds. C++ uses them as
// rules::name. tools/embed_sql.py reads this file and replaces {rule:name} in sql/; a duration is
// named there with its unit: {rule:task_grace_ms}, _s or _us. A rule has the form
//     inline constexpr TYPE name = NUMBER;  // unit, or what it means
// on one line, with a plain number or a duration literal (ms, s, min, h). The build fails for a
// name that is not declared here and for a rule that neither C++ nor SQL uses.
//
// Migrations are history: they keep the numbers with which they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pawl/types.h>

#include "base/literals.h"

namespace pawl::model::rules {

// Names and texts.
inline constexpr std::size_t max_name_bytes = 128;         // queue, workflow, schedule, slug
inline constexpr std::size_t max_schema_name_bytes = 48;   // a PostgreSQL schema
inline constexpr std::size_t max_step_id_bytes = 255;      // as users write it
inline constexpr std::size_t max_recorded_id_bytes = 267;  // with the number of its use
inline constexpr std::size_t max_key_bytes = 512;          // an idempotency key
inline constexpr std::size_t max_tag_bytes = 255;          // a run's tag
inline constexpr std::size_t max_tags = 64;                // of a run
inline constexpr std::size_t max_event_type_bytes = 255;   // of an outbox event
inline constexpr std::size_t max_aggregate_bytes = 1'024;  // also of a subject
inline constexpr std::size_t max_worker_name_bytes = 255;  // also host, subscription, handler
inline constexpr std::size_t max_cron_bytes = 1'024;       // a schedule's expression
inline constexpr std::size_t max_time_zone_bytes = 255;    // a schedule's time zone
inline constexpr std::size_t max_reason_bytes = 8'192;     // a stored reason is cut after that
inline constexpr int max_json_depth = 512;                 // levels

// Counts and places.
inline constexpr int max_priority = 1'000'000;              // and down to its negative
inline constexpr int max_attempts = 1'000'000;              // of runs, steps, messages, tasks
inline constexpr int max_strikes = 1'000;                   // deliveries without a report
inline constexpr int max_page_rows = 10'000;                // of a list
inline constexpr int max_batch = 10'000;                    // messages, tasks or events of a claim
inline constexpr int max_catch_up = 10'000;                 // missed fire times of a schedule
inline constexpr int max_prune_rows = 10'000;               // of one batch of pruning
inline constexpr std::int64_t max_kept = 1'000'000;         // rows that a retention policy keeps
inline constexpr std::int64_t max_count_limit = 1'000'000;  // of count_runs

// Times.
inline constexpr int earliest_year = 1970;                  // of any time that is stored
inline constexpr int latest_year = 9999;                    // its first moment still counts
inline constexpr Duration longest_delay = 878'400h;         // 100 years of 366 days
inline constexpr Duration longest_kept = 876'600h;          // 100 years of 365.25 days
inline constexpr Duration until_called = 876'600h;          // a run that waits for its call
inline constexpr Duration longest_jitter = 8'760h;          // 365 days
inline constexpr Duration longest_prune_interval = 8'784h;  // 366 days
inline constexpr Duration longest_poll = 3'600s;            // of poll_for_tasks()
inline constexpr Duration longest_poll_interval = 60s;      // of poll_for_tasks()

// Defaults. Those of public option structs are typed there too; RulesTest compares them.
inline constexpr Duration default_lease = 30s;           // if no queue or worker names one
inline constexpr Duration default_outbox_lease = 60s;    // of a dispatcher
inline constexpr Duration default_pause_check = 1h;      // of a pause that names none
inline constexpr Duration default_metrics_window = 1h;   // of workflow_metrics()
inline constexpr int default_queue_strikes = 5;          // then a message is buried
inline constexpr int default_queue_attempts = 25;        // then a message is buried
inline constexpr int default_page_rows = 100;            // of a list
inline constexpr int default_prune_rows = 500;           // of one batch of pruning
inline constexpr int default_run_attempts = 3;           // of workflows
inline constexpr Duration default_backoff_base = 1s;     // of workflows
inline constexpr Duration default_backoff_cap = 5min;    // of workflows
inline constexpr int default_flow_attempts = 3;          // of flows
inline constexpr Duration default_flow_base_delay = 5s;  // of flows
inline constexpr Duration default_flow_timeout = 60s;    // of flows

// Retries. A run waits min(cap, base * 2^failures), plus up to 1/jitter_part of it at random. A
// flow's task waits min(longest_flow_delay, base * 2^attempts).
inline constexpr int jitter_part = 2;               // the random part is up to a half
inline constexpr int most_doublings = 60;           // of any base: no overflow in SQL
inline constexpr Duration longest_flow_delay = 1h;  // between two starts of a task
inline constexpr int most_flow_doublings = 22;      // of 1 ms exceed longest_flow_delay

// Leases and claims.
inline constexpr Duration task_grace = 2s;                   // after a timeout the task is lost
inline constexpr Duration busy_end_pause = 100ms;            // until an end is tried again
inline constexpr Duration short_step = 1s;                   // longer ones are shown as RUNNING
inline constexpr int suspect_strikes = 2;                    // then a row is claimed alone
inline constexpr Duration due_look_interval = 100ms;         // between searches for due rows
inline constexpr Duration due_overlap = 1s;                  // of a search with the one before
inline constexpr Duration due_sweep_interval = 10s;          // then all due rows are searched
inline constexpr int max_held_rows = 10'000;                 // searched for a worker's leases
inline constexpr int max_call_depth = 100;                   // levels of calls that are followed
inline constexpr std::size_t wide_set = 32;                  // more queues are searched in parts
inline constexpr int wide_outbox = 1'000;                    // events of one wider search
inline constexpr int outbox_rounds = 3;                      // searches of one claim
inline constexpr std::int64_t claim_step_bytes = 4'194'304;  // of recorded steps in one claim
inline constexpr std::size_t max_unhandled = 1'000;          // runs failed in one call

// Counting, repair, restored databases.
inline constexpr std::int64_t count_limit = 10'000;        // larger counts are lower bounds
inline constexpr std::int64_t archive_list_limit = 1'000;  // of each queue's archive in a list
inline constexpr int max_priorities = 100;                 // read to find the oldest row
inline constexpr int oldest_events = 100;                  // read for the outbox's age
inline constexpr int repair_page_rows = 1'000;             // runs of one search for lost work
inline constexpr Duration prune_recheck = 1h;              // for events that commit late
inline constexpr int raised_deliveries = 1'000'000;  // above the deliveries of all old holders
inline constexpr std::int64_t raised_ids = 1'000'000'000;  // above all ids from before the restore

}  // namespace pawl::model::rules
