#include "model/enum_names.h"

#include <fmt/format.h>

namespace pawl::model {

namespace {

constexpr NameTable<ErrorCode, 45> error_codes{{
    {ErrorCode::invalid_argument, "invalid_argument"},
    {ErrorCode::invalid_url, "invalid_url"},
    {ErrorCode::invalid_schema_name, "invalid_schema_name"},
    {ErrorCode::backend_missing, "backend_missing"},
    {ErrorCode::connection_failed, "connection_failed"},
    {ErrorCode::timeout, "timeout"},
    {ErrorCode::busy, "busy"},
    {ErrorCode::pooler_detected, "pooler_detected"},
    {ErrorCode::not_installed, "not_installed"},
    {ErrorCode::schema_too_new, "schema_too_new"},
    {ErrorCode::schema_too_old, "schema_too_old"},
    {ErrorCode::test_clock, "test_clock"},
    {ErrorCode::queue_not_found, "queue_not_found"},
    {ErrorCode::queue_not_empty, "queue_not_empty"},
    {ErrorCode::message_not_found, "message_not_found"},
    {ErrorCode::worker_not_found, "worker_not_found"},
    {ErrorCode::invalid_transition, "invalid_transition"},
    {ErrorCode::workflow_not_found, "workflow_not_found"},
    {ErrorCode::workflow_has_runs, "workflow_has_runs"},
    {ErrorCode::workflow_queue, "workflow_queue"},
    {ErrorCode::duplicate_workflow, "duplicate_workflow"},
    {ErrorCode::flow_not_found, "flow_not_found"},
    {ErrorCode::flow_mismatch, "flow_mismatch"},
    {ErrorCode::run_not_found, "run_not_found"},
    {ErrorCode::run_deleted, "run_deleted"},
    {ErrorCode::run_finished, "run_finished"},
    {ErrorCode::run_not_failed, "run_not_failed"},
    {ErrorCode::run_cancelled, "run_cancelled"},
    {ErrorCode::step_not_found, "step_not_found"},
    {ErrorCode::step_finished, "step_finished"},
    {ErrorCode::step_not_waiting, "step_not_waiting"},
    {ErrorCode::step_failed, "step_failed"},
    {ErrorCode::execution_failed, "execution_failed"},
    {ErrorCode::wait_timeout, "wait_timeout"},
    {ErrorCode::wait_stopped, "wait_stopped"},
    {ErrorCode::context_misuse, "context_misuse"},
    {ErrorCode::schedule_not_found, "schedule_not_found"},
    {ErrorCode::outbox_event_not_found, "outbox_event_not_found"},
    {ErrorCode::listen_failed, "listen_failed"},
    {ErrorCode::invalid_payload, "invalid_payload"},
    {ErrorCode::payload_too_large, "payload_too_large"},
    {ErrorCode::wrong_transaction, "wrong_transaction"},
    {ErrorCode::serialization_error, "serialization_error"},
    {ErrorCode::unsupported, "unsupported"},
    {ErrorCode::database_error, "database_error"},
}};

constexpr bool each_error_code_is_at_its_value() {
    for (std::size_t i = 0; i < error_codes.size(); ++i) {
        if (error_codes[i].first != static_cast<ErrorCode>(i)) return false;
    }
    return true;
}
static_assert(each_error_code_is_at_its_value());
static_assert(error_codes.back().first == ErrorCode::database_error, "an error code has no name");

}  // namespace

void throw_unknown_word(std::string_view what, std::string_view word) {
    throw UnknownWord(
        ErrorCode::database_error,
        fmt::format(
            "unknown {} '{}' in the database, written by a newer pawl or by hand; "
            "upgrade this program or correct the row",
            what,
            word
        )
    );
}

}  // namespace pawl::model

namespace pawl::inline v0 {

std::string_view to_string(Outcome outcome) {
    return model::name_of(model::outcomes, outcome);
}
std::string_view to_string(QueueKind kind) {
    return model::name_of(model::queue_kinds, kind);
}
std::string_view to_string(ArchiveFilter filter) {
    return model::name_of(model::archive_filters, filter);
}
std::string_view to_string(DeleteMode mode) {
    return model::name_of(model::delete_modes, mode);
}
std::string_view to_string(Compat compat) {
    return model::name_of(model::compats, compat);
}
std::string_view to_string(EnsuredFlow what) {
    return model::name_of(model::ensured_flows, what);
}
std::string_view to_string(EnsureMode mode) {
    return model::name_of(model::ensure_modes, mode);
}
std::string_view to_string(SinkResult::Kind kind) {
    return model::name_of(model::sink_results, kind);
}
std::string_view to_string(HttpSinkOptions::Mode mode) {
    return model::name_of(model::http_modes, mode);
}
std::string_view to_string(MessageState state) {
    return model::name_of(model::message_states, state);
}
std::string_view to_string(RunStatus status) {
    return model::name_of(model::run_statuses, status);
}
std::string_view to_string(StepStatus status) {
    return model::name_of(model::step_statuses, status);
}
std::string_view to_string(InstallAction action) {
    return model::name_of(model::install_actions, action);
}
std::string_view to_string(WaitKind kind) {
    return model::name_of(model::wait_kinds, kind);
}
std::string_view to_string(AuditLevel level) {
    return model::name_of(model::audit_levels, level);
}
std::string_view to_string(PublishLevel level) {
    return model::name_of(model::publish_levels, level);
}
std::string_view to_string(OutboxStatus status) {
    return model::name_of(model::outbox_statuses, status);
}
std::string_view to_string(Overlap overlap) {
    return model::name_of(model::overlaps, overlap);
}
std::string_view to_string(CatchUp catch_up) {
    return model::name_of(model::catch_ups, catch_up);
}
std::string_view to_string(RetentionKind kind) {
    return model::name_of(model::retention_kinds, kind);
}
std::string_view to_string(WorkerStatus status) {
    return model::name_of(model::worker_statuses, status);
}
std::string_view to_string(WorkerEvent event) {
    return model::name_of(model::worker_events, event);
}

std::string_view to_string(ErrorCode code) {
    return model::name_of(model::error_codes, code);
}

}  // namespace pawl::inline v0
