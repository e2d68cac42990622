// Exceptions. Every exception that pawl throws is a pawl::Error: catch that, and compare its
// code(). PermanentError, TransientError and PauseError are for the other direction: handlers and
// steps throw them to tell pawl what to do next.
//
// One type is deliberately not a std::exception: when a run is suspended, pawl throws it through
// the workflow's function to unwind the stack. `catch (const std::exception&)` does not catch it. A
// `catch (...)` in a workflow must rethrow; see docs/workflows.md. If memory or threads run out,
// std::bad_alloc and std::system_error pass through unchanged.
#pragma once

#include <optional>
#include <pawl/export.h>
#include <pawl/types.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

/// Stable codes, documented in docs/errors.md. Programs compare codes, never message texts.
enum class ErrorCode {
    invalid_argument,     ///< a value that can never work: the message names it
    invalid_url,          ///< not a URL that connect() understands
    invalid_schema_name,  ///< the `schema` parameter is not a plain identifier
    backend_missing,      ///< this build has no support for that kind of database
    connection_failed,    ///< the database cannot be reached or opened, or went away
    timeout,              ///< no answer within the given time
    busy,                 ///< another process held the write lock for longer than busy_timeout
    pooler_detected,      ///< a pooler in transaction mode: add pooler=transaction to the URL
    not_installed,        ///< no pawl schema there: call install()
    schema_too_new,       ///< written by a newer pawl: upgrade this program
    schema_too_old,       ///< written by an older pawl: call install()
    test_clock,  ///< a test replaced the store's clock; set ConnectOptions::accept_test_clock in
                 ///< tests
    queue_not_found,     ///< it does not exist: call create_queue()
    queue_not_empty,     ///< it has messages: delete it with DeleteMode::force
    message_not_found,   ///< no such message in this queue or its archive
    worker_not_found,    ///< no such worker, or its row was removed
    invalid_transition,  ///< the worker's status does not allow this event: see docs/glossary.md
    workflow_not_found,  ///< it does not exist: call create_workflow()
    workflow_has_runs,   ///< it cannot be deleted while live runs exist
    workflow_queue,      ///< the queue belongs to a workflow: trigger that instead
    duplicate_workflow,  ///< PAWL_WORKFLOW was used twice with one name
    flow_not_found,      ///< it does not exist: call create_flow()
    flow_mismatch,       ///< it exists with another declaration: a new name is a new version
    run_not_found,       ///< no such run, or retention removed it
    run_deleted,         ///< soft-deleted
    run_finished,        ///< SUCCESS, ERROR and CANCELLED never change
    run_not_failed,      ///< only an ERROR or CANCELLED run can be retried
    run_cancelled,       ///< the awaited run was cancelled: it has no result
    step_not_found,      ///< the run has not recorded such a step
    step_finished,       ///< the step has its result already
    step_not_waiting,    ///< resume of a step at which the run does not wait
    step_failed,         ///< a step of this run has failed for good: a StepError
    execution_failed,    ///< the awaited run ended as ERROR
    wait_timeout,        ///< the run has not ended within the given time; it continues
    wait_stopped,        ///< a stop was requested while waiting for a run; it continues
    context_misuse,      ///< a Context was used where it must not be: the message says how
    schedule_not_found,  ///< it does not exist: call create_schedule()
    outbox_event_not_found,  ///< no such event, or it is not parked
    listen_failed,        ///< nothing can listen at that address and port: in use, or not allowed
    invalid_payload,      ///< not valid JSON
    payload_too_large,    ///< above ConnectOptions::max_payload_bytes
    wrong_transaction,    ///< a connection of another kind of database, or with no open transaction
    serialization_error,  ///< JSON that does not decode into the type asked for
    unsupported,          ///< this kind of store has no such part: the message names it
    database_error,       ///< the database refused a statement: the message contains its text
};

/// The name of the code: "queue_not_found".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(ErrorCode code);

/// The base of every exception that pawl throws. what() says what failed, for which object, why,
/// and what to do; it is for people and may change.
class PAWL_EXPORT Error : public std::runtime_error {
public:
    /// An error that is neither retryable nor in doubt.
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    /// For programs: stable across versions.
    [[nodiscard]] ErrorCode code() const { return code_; }
    /// True if the same call may succeed later without any change by the caller.
    [[nodiscard]] bool retryable() const { return retryable_; }
    /// True if the answer to a commit was lost: the write may or may not have happened. Repeat it
    /// only if a second write does no harm, for example with an idempotency key.
    [[nodiscard]] bool in_doubt() const { return in_doubt_; }

    // For code that throws an Error.
    /// Sets retryable().
    Error& mark_retryable() {
        retryable_ = true;
        return *this;
    }
    /// Sets in_doubt().
    Error& mark_in_doubt() {
        in_doubt_ = true;
        return *this;
    }

private:
    ErrorCode code_;
    bool retryable_ = false;
    bool in_doubt_ = false;
};

/// Thrown by a handler or a step body: a retry is useless. A message becomes a dead letter
/// immediately; a step fails, and if the workflow does not catch the StepError, so does the run.
class PAWL_EXPORT PermanentError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown by a handler or a step body: retry after `retry_after` (up to 100 years), or after the
/// usual backoff if it is not given. Any other exception is treated like this one.
class PAWL_EXPORT TransientError : public std::runtime_error {
public:
    /// The message is recorded as the error of the attempt.
    explicit TransientError(
        const std::string& message, std::optional<Duration> retry_after = std::nullopt
    )
        : std::runtime_error(message), retry_after_(retry_after) {}
    /// Not set: the usual backoff.
    [[nodiscard]] std::optional<Duration> retry_after() const { return retry_after_; }

private:
    std::optional<Duration> retry_after_;
};

/// Thrown by a step body: the run pauses at this step, and holds no thread. run.resume(step, data)
/// gives the step its result. Every `check_after` (default: the store's pause_check_interval; above
/// 0, up to 100 years) the body is executed again. A pause uses no attempts. Outside of steps the
/// run is paused too, and its function is called again after `check_after`.
class PAWL_EXPORT PauseError : public std::runtime_error {
public:
    /// The message is shown to people, together with the paused run.
    explicit PauseError(
        const std::string& message,
        std::optional<Duration> check_after = std::nullopt,
        std::string condition = {}
    )
        : std::runtime_error(message),
          check_after_(check_after),
          condition_(std::move(condition)) {}
    /// Not set: the store's pause_check_interval.
    [[nodiscard]] std::optional<Duration> check_after() const { return check_after_; }
    /// A machine-readable description of what the step waits for; stored and shown.
    [[nodiscard]] const std::string& condition() const { return condition_; }

private:
    std::optional<Duration> check_after_;
    std::string condition_;
};

/// Thrown by ctx.step() and ctx.call() for a step that has failed for good, the same on every
/// replay. Code that catches it continues; if it is not caught, the run ends as ERROR. Its code()
/// is step_failed.
class PAWL_EXPORT StepError : public Error {
public:
    /// Created by the library.
    StepError(std::string step, const std::string& message, Json error)
        : Error(ErrorCode::step_failed, message),
          step_(std::move(step)),
          error_(std::move(error)) {}
    /// The id of the step: "charge", or "charge#2" for the second use of the name.
    [[nodiscard]] const std::string& step() const { return step_; }
    /// {"type", "message", "step", "attempt"}, as recorded.
    [[nodiscard]] const Json& error() const { return error_; }

private:
    std::string step_;
    Json error_;
};

}  // namespace pawl::inline v0
