// Everything pawl throws is a pawl::Error. The exceptions that handlers throw to tell pawl what to
// do are below.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl {

/// Stable names (see docs/errors.md): code that reacts to an error asks for these, never for the
/// text.
enum class ErrorCode {
    invalid_argument,     ///< a value that can never work: the message names it
    invalid_url,          ///< not a URL that connect() understands
    invalid_schema_name,  ///< the `schema` parameter is not a plain identifier
    backend_missing,      ///< this build has no support for that kind of database
    connection_failed,    ///< the database cannot be reached or opened, or went away
    timeout,              ///< no answer within the time given
    busy,                 ///< another process held the write lock for longer than busy_timeout
    pooler_detected,      ///< a pooler in transaction mode: add pooler=transaction to the URL
    not_installed,        ///< no pawl schema there: call install()
    schema_too_new,       ///< written by a newer pawl: upgrade this program
    schema_too_old,       ///< written by an older pawl: call install()
    test_clock,           ///< the store's clock is replaced, and a worker was not told to accept it
    queue_not_found,
    queue_not_empty,
    message_not_found,
    worker_not_found,
    invalid_transition,  ///< the worker's state does not allow that
    workflow_not_found,  ///< nobody has created it: call create_workflow()
    workflow_has_runs,   ///< it cannot be deleted while live runs exist
    workflow_queue,      ///< the queue belongs to a workflow: trigger that instead
    duplicate_workflow,  ///< PAWL_WORKFLOW was used twice with one name
    flow_not_found,      ///< nobody has created it: call create_flow()
    flow_mismatch,       ///< it is declared differently already: a new name is a new version
    run_not_found,
    run_deleted,     ///< soft-deleted
    run_finished,    ///< SUCCESS, ERROR and CANCELLED never change
    run_not_failed,  ///< only an ERROR or CANCELLED run can be retried
    run_cancelled,   ///< what was waited for will not come
    step_not_found,
    step_finished,     ///< the step has its result already
    step_not_waiting,  ///< resume of a step at which the run does not wait
    step_failed,       ///< a step of this run has failed for good: a StepError
    execution_failed,  ///< the run that was waited for ended as ERROR
    wait_timeout,      ///< the run has not ended within the time given; it goes on
    context_misuse,    ///< a Context used where it must not be: the message says how
    schedule_not_found,
    outbox_event_not_found,
    listen_failed,        ///< nothing can listen at that address and port: in use, or not allowed
    invalid_payload,      ///< not valid JSON
    payload_too_large,    ///< above ConnectOptions::max_payload_bytes
    wrong_transaction,    ///< a connection of another kind of database, or with no open transaction
    serialization_error,  ///< JSON that does not decode into the type asked for
    unsupported,          ///< this kind of store has no such part: the message names it
    database_error,       ///< the database refused a statement: the message carries its words
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ErrorCode code() const { return code_; }
    /// True when the same call may succeed later without any change by the caller.
    [[nodiscard]] bool retryable() const { return retryable_; }
    /// True when the answer to a commit was lost: the write may or may not have happened.
    [[nodiscard]] bool in_doubt() const { return in_doubt_; }

    Error& mark_retryable() {
        retryable_ = true;
        return *this;
    }
    Error& mark_in_doubt() {
        in_doubt_ = true;
        return *this;
    }

private:
    ErrorCode code_;
    bool retryable_ = false;
    bool in_doubt_ = false;
};

/// Thrown by a handler or a step: trying again is useless. A message becomes a dead letter at once;
/// a step has failed, and uncaught the run.
class PermanentError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown by a handler or a step: try again, after `retry_after` where given (up to 100 years),
/// else after the usual backoff. Any other exception counts as this one.
class TransientError : public std::runtime_error {
public:
    explicit TransientError(
        const std::string& message, std::optional<Duration> retry_after = std::nullopt
    )
        : std::runtime_error(message), retry_after_(retry_after) {}
    [[nodiscard]] std::optional<Duration> retry_after() const { return retry_after_; }

private:
    std::optional<Duration> retry_after_;
};

/// Thrown by a step's body: the run pauses at this step. store.resume(run, step, data) gives the
/// step its result; every `check_after` (default: the store's pause_check_interval; above 0, up to
/// 100 years) the body is executed again. Uses no attempts.
class PauseError : public std::runtime_error {
public:
    explicit PauseError(
        const std::string& message,
        std::optional<Duration> check_after = std::nullopt,
        std::string condition = {}
    )
        : std::runtime_error(message),
          check_after_(check_after),
          condition_(std::move(condition)) {}
    [[nodiscard]] std::optional<Duration> check_after() const { return check_after_; }
    /// What is waited for, as the program puts it; stored and shown.
    [[nodiscard]] const std::string& condition() const { return condition_; }

private:
    std::optional<Duration> check_after_;
    std::string condition_;
};

/// Thrown by ctx.step() and ctx.call() for a step that has failed for good, the same on every
/// replay. Code that catches it continues; if it is not caught, the run ends as ERROR. Its code()
/// is step_failed.
class StepError : public Error {
public:
    StepError(std::string step, const std::string& message, Json error)
        : Error(ErrorCode::step_failed, message),
          step_(std::move(step)),
          error_(std::move(error)) {}
    [[nodiscard]] const std::string& step() const { return step_; }
    /// {"type", "message", "step", "attempt"}, as recorded.
    [[nodiscard]] const Json& error() const { return error_; }

private:
    std::string step_;
    Json error_;
};

}  // namespace pawl
