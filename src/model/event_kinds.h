// The kinds of events and of history entries of a run: the values of the column `kind`, and the
// audit level from which each is recorded. sql/ names them as {event:kind}.
//
// A caller of the SQL functions may record other kinds; readers show them unchanged.
#pragma once

#include <optional>
#include <pawl/run.h>
#include <string_view>

#include "model/enum_names.h"

namespace pawl::model {

enum class EventKind {
    triggered,
    started,
    run_succeeded,
    run_failed,
    run_retry,
    cancelled,
    poison,
    no_handler_registered,
    buried,
    step_taken_over,
    step_started,
    step_succeeded,
    step_failed,
    step_retry,
    step_skipped,
    step_cancelled,
    task_started,
    task_succeeded,
    task_failed,
    task_retry,
    task_skipped,
    task_cancelled,
    paused,
    suspended,
    suspension_swallowed,
    resumed,
    resume_rejected,
    woken,
    lease_lost,
    repaired,
    retried,
    forked,
    deleted,
};

inline constexpr NameTable<EventKind, 33> event_kinds{{
    {EventKind::triggered, "triggered"},
    {EventKind::started, "started"},
    {EventKind::run_succeeded, "run_succeeded"},
    {EventKind::run_failed, "run_failed"},
    {EventKind::run_retry, "run_retry"},
    {EventKind::cancelled, "cancelled"},
    {EventKind::poison, "poison"},
    {EventKind::no_handler_registered, "no_handler_registered"},
    {EventKind::buried, "buried"},
    {EventKind::step_taken_over, "step_taken_over"},
    {EventKind::step_started, "step_started"},
    {EventKind::step_succeeded, "step_succeeded"},
    {EventKind::step_failed, "step_failed"},
    {EventKind::step_retry, "step_retry"},
    {EventKind::step_skipped, "step_skipped"},
    {EventKind::step_cancelled, "step_cancelled"},
    {EventKind::task_started, "task_started"},
    {EventKind::task_succeeded, "task_succeeded"},
    {EventKind::task_failed, "task_failed"},
    {EventKind::task_retry, "task_retry"},
    {EventKind::task_skipped, "task_skipped"},
    {EventKind::task_cancelled, "task_cancelled"},
    {EventKind::paused, "paused"},
    {EventKind::suspended, "suspended"},
    {EventKind::suspension_swallowed, "suspension_swallowed"},
    {EventKind::resumed, "resumed"},
    {EventKind::resume_rejected, "resume_rejected"},
    {EventKind::woken, "woken"},
    {EventKind::lease_lost, "lease_lost"},
    {EventKind::repaired, "repaired"},
    {EventKind::retried, "retried"},
    {EventKind::forked, "forked"},
    {EventKind::deleted, "deleted"},
}};

[[nodiscard]] constexpr std::string_view to_string(EventKind kind) {
    return name_of(event_kinds, kind);
}
// Nullopt for a kind that a caller of the SQL functions has chosen.
[[nodiscard]] constexpr std::optional<EventKind> event_kind(std::string_view word) {
    return value_of(event_kinds, word);
}

[[nodiscard]] inline bool is(const HistoryEntry& entry, EventKind kind) {
    return entry.kind == to_string(kind);
}

// Expected progress is recorded at AuditLevel::all only.
[[nodiscard]] constexpr bool is_progress(EventKind kind) {
    switch (kind) {
        case EventKind::triggered:
        case EventKind::started:
        case EventKind::run_succeeded:
        case EventKind::step_started:
        case EventKind::step_succeeded:
        case EventKind::step_taken_over:
        case EventKind::task_started:
        case EventKind::task_succeeded:
        case EventKind::suspended:
            return true;
        default:
            return false;
    }
}

// Whether a workflow with this audit level records an event of this kind.
[[nodiscard]] constexpr bool is_audited(AuditLevel level, EventKind kind) {
    if (level == AuditLevel::exceptions) return !is_progress(kind);
    return level == AuditLevel::all;
}

}  // namespace pawl::model
