#include "model/enum_names.h"

#include <fmt/format.h>

namespace pawl::model {

void throw_unknown_word(std::string_view what, std::string_view word) {
    throw UnknownWord(
        ErrorCode::database_error,
        fmt::format(
            "the database holds an unknown {} '{}': it was written by a newer pawl or by hand; "
            "upgrade this program or correct the row",
            what,
            word
        )
    );
}

}  // namespace pawl::model

namespace pawl {

std::string_view to_string(Outcome outcome) {
    return model::name_of(model::outcomes, outcome);
}
std::string_view to_string(QueueKind kind) {
    return model::name_of(model::queue_kinds, kind);
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
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::invalid_url:
            return "invalid_url";
        case ErrorCode::invalid_schema_name:
            return "invalid_schema_name";
        case ErrorCode::backend_missing:
            return "backend_missing";
        case ErrorCode::connection_failed:
            return "connection_failed";
        case ErrorCode::timeout:
            return "timeout";
        case ErrorCode::busy:
            return "busy";
        case ErrorCode::pooler_detected:
            return "pooler_detected";
        case ErrorCode::not_installed:
            return "not_installed";
        case ErrorCode::schema_too_new:
            return "schema_too_new";
        case ErrorCode::schema_too_old:
            return "schema_too_old";
        case ErrorCode::test_clock:
            return "test_clock";
        case ErrorCode::queue_not_found:
            return "queue_not_found";
        case ErrorCode::queue_not_empty:
            return "queue_not_empty";
        case ErrorCode::message_not_found:
            return "message_not_found";
        case ErrorCode::worker_not_found:
            return "worker_not_found";
        case ErrorCode::invalid_transition:
            return "invalid_transition";
        case ErrorCode::workflow_not_found:
            return "workflow_not_found";
        case ErrorCode::workflow_has_runs:
            return "workflow_has_runs";
        case ErrorCode::workflow_queue:
            return "workflow_queue";
        case ErrorCode::duplicate_workflow:
            return "duplicate_workflow";
        case ErrorCode::flow_not_found:
            return "flow_not_found";
        case ErrorCode::flow_mismatch:
            return "flow_mismatch";
        case ErrorCode::run_not_found:
            return "run_not_found";
        case ErrorCode::run_deleted:
            return "run_deleted";
        case ErrorCode::run_finished:
            return "run_finished";
        case ErrorCode::run_not_failed:
            return "run_not_failed";
        case ErrorCode::run_cancelled:
            return "run_cancelled";
        case ErrorCode::step_not_found:
            return "step_not_found";
        case ErrorCode::step_finished:
            return "step_finished";
        case ErrorCode::step_not_waiting:
            return "step_not_waiting";
        case ErrorCode::step_failed:
            return "step_failed";
        case ErrorCode::execution_failed:
            return "execution_failed";
        case ErrorCode::wait_timeout:
            return "wait_timeout";
        case ErrorCode::context_misuse:
            return "context_misuse";
        case ErrorCode::schedule_not_found:
            return "schedule_not_found";
        case ErrorCode::outbox_event_not_found:
            return "outbox_event_not_found";
        case ErrorCode::listen_failed:
            return "listen_failed";
        case ErrorCode::invalid_payload:
            return "invalid_payload";
        case ErrorCode::payload_too_large:
            return "payload_too_large";
        case ErrorCode::wrong_transaction:
            return "wrong_transaction";
        case ErrorCode::serialization_error:
            return "serialization_error";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::database_error:
            return "database_error";
    }
    return "unknown";
}

}  // namespace pawl
