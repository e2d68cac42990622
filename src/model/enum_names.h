// One table of names per enumeration, used by C++, SQL, the command line and the docs.
#pragma once

#include <array>
#include <optional>
#include <pawl/error.h>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/queue.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/store.h>
#include <pawl/worker_info.h>
#include <pawl/workflow.h>
#include <string_view>
#include <utility>

namespace pawl::model {

template <class Enum, std::size_t N>
using NameTable = std::array<std::pair<Enum, std::string_view>, N>;

template <class Enum, std::size_t N>
constexpr std::string_view name_of(const NameTable<Enum, N>& table, Enum value) {
    for (const auto& [candidate, name] : table) {
        if (candidate == value) return name;
    }
    return "unknown";
}

template <class Enum, std::size_t N>
constexpr std::optional<Enum> value_of(const NameTable<Enum, N>& table, std::string_view name) {
    for (const auto& [value, candidate] : table) {
        if (candidate == name) return value;
    }
    return std::nullopt;
}

// A database_error with its own type, for callers that skip the row and process the others.
class UnknownWord : public Error {
public:
    using Error::Error;
};
[[noreturn]] void throw_unknown_word(std::string_view what, std::string_view word);

// The value of a stored word. Throws database_error for an unknown word: any guess would change
// what the program does with the row.
template <class Enum, std::size_t N>
Enum stored_value(const NameTable<Enum, N>& table, std::string_view word, std::string_view what) {
    if (const auto value = value_of(table, word)) return *value;
    throw_unknown_word(what, word);
}

inline constexpr NameTable<Outcome, 4> outcomes{{
    {Outcome::done, "done"},
    {Outcome::lease_lost, "lease_lost"},
    {Outcome::workflow_queue, "workflow_queue"},
    {Outcome::other_queue, "other_queue"},
}};

inline constexpr NameTable<QueueKind, 3> queue_kinds{{
    {QueueKind::plain, "plain"},
    {QueueKind::workflow, "workflow"},
    {QueueKind::flow, "flow"},
}};

inline constexpr NameTable<ArchiveFilter, 3> archive_filters{{
    {ArchiveFilter::all, "all"},
    {ArchiveFilter::done, "done"},
    {ArchiveFilter::dead, "dead"},
}};

inline constexpr NameTable<DeleteMode, 2> delete_modes{{
    {DeleteMode::if_empty, "if-empty"},
    {DeleteMode::force, "force"},
}};

inline constexpr NameTable<Compat, 1> compats{{
    {Compat::pgflow, "pgflow"},
}};

inline constexpr NameTable<MessageState, 3> message_states{{
    {MessageState::ready, "ready"},
    {MessageState::waiting, "waiting"},
    {MessageState::leased, "leased"},
}};

inline constexpr NameTable<RunStatus, 6> run_statuses{{
    {RunStatus::queued, "QUEUED"},
    {RunStatus::running, "RUNNING"},
    {RunStatus::paused, "PAUSED"},
    {RunStatus::success, "SUCCESS"},
    {RunStatus::error, "ERROR"},
    {RunStatus::cancelled, "CANCELLED"},
}};

inline constexpr NameTable<InstallAction, 5> install_actions{{
    {InstallAction::create, "create"},
    {InstallAction::replace, "replace"},
    {InstallAction::migrate, "migrate"},
    {InstallAction::keep, "keep"},
    {InstallAction::by_hand, "by_hand"},
}};

inline constexpr NameTable<WaitKind, 3> wait_kinds{{
    {WaitKind::resume, "resume"},
    {WaitKind::time, "time"},
    {WaitKind::run, "run"},
}};

inline constexpr NameTable<StepStatus, 7> step_statuses{{
    {StepStatus::pending, "PENDING"},
    {StepStatus::running, "RUNNING"},
    {StepStatus::paused, "PAUSED"},
    {StepStatus::success, "SUCCESS"},
    {StepStatus::error, "ERROR"},
    {StepStatus::skipped, "SKIPPED"},
    {StepStatus::cancelled, "CANCELLED"},
}};

inline constexpr NameTable<TaskStatus, 6> task_statuses{{
    {TaskStatus::queued, "QUEUED"},
    {TaskStatus::running, "RUNNING"},
    {TaskStatus::success, "SUCCESS"},
    {TaskStatus::error, "ERROR"},
    {TaskStatus::skipped, "SKIPPED"},
    {TaskStatus::cancelled, "CANCELLED"},
}};

inline constexpr NameTable<TaskOutcome, 6> task_outcomes{{
    {TaskOutcome::done, "done"},
    {TaskOutcome::finished, "finished"},
    {TaskOutcome::cancelled, "cancelled"},
    {TaskOutcome::lease_lost, "lease_lost"},
    {TaskOutcome::not_running, "not_running"},
    {TaskOutcome::unknown_task, "unknown_task"},
}};

inline constexpr NameTable<StepType, 2> step_types{{
    {StepType::single, "single"},
    {StepType::map, "map"},
}};

inline constexpr NameTable<EnsuredFlow, 3> ensured_flows{{
    {EnsuredFlow::created, "created"},
    {EnsuredFlow::same, "same"},
    {EnsuredFlow::recreated, "recreated"},
}};

inline constexpr NameTable<EnsureMode, 2> ensure_modes{{
    {EnsureMode::refuse_different, "refuse-different"},
    {EnsureMode::force, "force"},
}};

inline constexpr NameTable<WhenUnmet, 3> when_unmet_names{{
    {WhenUnmet::skip, "skip"},
    {WhenUnmet::skip_cascade, "skip-cascade"},
    {WhenUnmet::fail, "fail"},
}};

inline constexpr NameTable<WhenExhausted, 3> when_exhausted_names{{
    {WhenExhausted::fail, "fail"},
    {WhenExhausted::skip, "skip"},
    {WhenExhausted::skip_cascade, "skip-cascade"},
}};

inline constexpr NameTable<AuditLevel, 3> audit_levels{{
    {AuditLevel::off, "off"},
    {AuditLevel::exceptions, "exceptions"},
    {AuditLevel::all, "all"},
}};

inline constexpr NameTable<PublishLevel, 3> publish_levels{{
    {PublishLevel::off, "off"},
    {PublishLevel::alerts, "alerts"},
    {PublishLevel::ends, "ends"},
}};

inline constexpr NameTable<OutboxStatus, 3> outbox_statuses{{
    {OutboxStatus::pending, "PENDING"},
    {OutboxStatus::published, "PUBLISHED"},
    {OutboxStatus::parked, "PARKED"},
}};

inline constexpr NameTable<SinkResult::Kind, 3> sink_results{{
    {SinkResult::Kind::delivered, "delivered"},
    {SinkResult::Kind::retry, "retry"},
    {SinkResult::Kind::reject, "reject"},
}};

inline constexpr NameTable<HttpSinkOptions::Mode, 2> http_modes{{
    {HttpSinkOptions::Mode::structured, "structured"},
    {HttpSinkOptions::Mode::binary, "binary"},
}};

inline constexpr NameTable<Overlap, 3> overlaps{{
    {Overlap::allow, "allow"},
    {Overlap::skip, "skip"},
    {Overlap::queue_one, "queue-one"},
}};

inline constexpr NameTable<CatchUp, 3> catch_ups{{
    {CatchUp::none, "none"},
    {CatchUp::last, "last"},
    {CatchUp::all, "all"},
}};

inline constexpr NameTable<RetentionKind, 8> retention_kinds{{
    {RetentionKind::success, "success"},
    {RetentionKind::failed, "failed"},
    {RetentionKind::events, "events"},
    {RetentionKind::archive, "archive"},
    {RetentionKind::dead_letters, "dead-letters"},
    {RetentionKind::outbox, "outbox"},
    {RetentionKind::deleted, "deleted"},
    {RetentionKind::workers, "workers"},
}};

inline constexpr NameTable<WorkerStatus, 5> worker_statuses{{
    {WorkerStatus::ready, "READY"},
    {WorkerStatus::polling, "POLLING"},
    {WorkerStatus::interrupted, "INTERRUPTED"},
    {WorkerStatus::suspended, "SUSPENDED"},
    {WorkerStatus::stopped, "STOPPED"},
}};

inline constexpr NameTable<WorkerEvent, 6> worker_events{{
    {WorkerEvent::start_polling, "start_polling"},
    {WorkerEvent::poll_done, "poll_done"},
    {WorkerEvent::interrupt, "interrupt"},
    {WorkerEvent::suspend, "suspend"},
    {WorkerEvent::resume, "resume"},
    {WorkerEvent::stop, "stop"},
}};

}  // namespace pawl::model
