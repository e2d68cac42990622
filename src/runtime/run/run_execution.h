// One execution of a run: the state that its steps, waits, calls and the watchdog share. It checks
// whether the execution may continue, records steps, and remembers how the execution ends.
//
// An execution ends early if the run is suspended (a retry, a pause, a sleep), if its lease is
// lost, or if its timeout has elapsed. Then `end` is set, the exception Unwinding unwinds the
// user's stack, and every later call throws it again, so that a catch (...) cannot stop it.
#pragma once

#include <mutex>
#include <optional>
#include <pawl/context.h>
#include <stop_token>
#include <thread>

#include "runtime/committer.h"
#include "runtime/run/run_call.h"
#include "runtime/run/step_log.h"

namespace pawl::runtime {

// Deliberately not a std::exception, so that only pawl catches it.
struct Unwinding {};

class RunExecution {
public:
    using Clock = std::chrono::steady_clock;
    using Record = base::HeapOptional<seam::StepWrite>;
    enum class End {
        none,       // the function's return or exception counts
        suspended,  // write suspension()
        lost,       // write nothing
        timed_out,  // the run's timeout has elapsed
    };

    RunExecution(RunCall& call, Committer& committer, seam::Engine& backend);

    [[nodiscard]] RunCall& call() const { return call_; }
    [[nodiscard]] Committer& committer() const { return committer_; }
    [[nodiscard]] seam::Engine& backend() const { return backend_; }
    [[nodiscard]] StepLog& step_log() { return log_; }
    [[nodiscard]] const StepLog& step_log() const { return log_; }
    [[nodiscard]] std::optional<Clock::time_point> deadline() const { return deadline_; }
    [[nodiscard]] bool time_is_over() const { return deadline_ && *deadline_ <= Clock::now(); }
    [[nodiscard]] bool cancelled() const { return call_.is_over(); }

    // --- entry checks ---
    // Called first by each function of the Context that a step's body must not call.
    void enter();
    // The same for functions that it may call.
    void check_usable() const;
    // Marks that a step's body executes, while it exists.
    class BodyScope {
    public:
        explicit BodyScope(RunExecution& run) : run_(run) { run_.in_body_ = true; }
        ~BodyScope() { run_.in_body_ = false; }
        BodyScope(const BodyScope&) = delete;
        BodyScope& operator=(const BodyScope&) = delete;

    private:
        RunExecution& run_;
    };

    // --- exits ---
    [[nodiscard]] End end() const { return lock()->end; }
    [[noreturn]] void unwind(End end);
    [[noreturn]] void suspend(seam::Suspend suspend, base::HeapOptional<seam::AuditEvent> event);
    // The same with an event of audit level `all`, for a run that waits at a step.
    [[noreturn]] void suspend_at_step(seam::Suspend suspend, seam::StepWrite step);
    [[nodiscard]] seam::Write suspension() { return std::move(*lock()->suspension); }
    // The run waits. Keeps the count of failures without progress.
    [[nodiscard]] seam::Suspend suspension_for(RunStatus status, Duration delay) const;

    // --- all kinds of steps ---
    // The recorded result, if there is one. Throws a recorded error.
    [[nodiscard]] std::optional<Json> replayed(const std::string& id) const;
    [[nodiscard]] seam::StepWrite new_record(const std::string& id);
    [[nodiscard]] seam::Write checkpoint(Record record) const;
    // Waits for the commit.
    void record(const seam::Write& checkpoint);

    // --- attempts ---
    // The run's failures without progress, including this one.
    [[nodiscard]] int failed_attempts() const;
    [[nodiscard]] int max_attempts() const;
    [[nodiscard]] Duration backoff(int failures, const StepOptions& options = {}) const;

    // --- state shared with the watchdog ---
    struct RunningStep {
        Record record;
        const StepOptions* options = nullptr;
        Clock::time_point started_at;
        std::optional<std::stop_source> stop;  // set if the step has a timeout
        bool marked = false;                   // RUNNING is recorded
        bool timed_out = false;
    };
    struct Shared {
        End end = End::none;
        std::optional<RunningStep> step;  // the step whose body executes
        std::optional<seam::Write> suspension;
    };
    class Locked {
    public:
        Locked(std::mutex& mutex, Shared& shared) : lock_(mutex), shared_(shared) {}
        [[nodiscard]] Shared* operator->() const { return &shared_; }
        [[nodiscard]] Shared& operator*() const { return shared_; }

    private:
        const std::unique_lock<std::mutex> lock_;
        Shared& shared_;
    };
    [[nodiscard]] Locked lock() const { return {mutex_, shared_}; }

private:
    void check_caller() const;

    RunCall& call_;
    Committer& committer_;
    seam::Engine& backend_;
    const std::thread::id owner_;
    const base::Fiber* const fiber_;  // the owner if runs share threads
    const int uncaught_;              // exceptions in flight when the handler was called
    StepLog log_;
    std::optional<Clock::time_point> deadline_;
    bool in_body_ = false;
    bool progressed_ = false;
    mutable std::mutex mutex_;
    mutable Shared shared_;
};

// Throws context_misuse.
[[noreturn]] void misuse(const std::string& what);
[[noreturn]] void throw_step_error(const std::string& id, const std::string& error);
// Sets the time since the step's body began.
void measure(seam::StepWrite& record, RunExecution::Clock::time_point started_at);

}  // namespace pawl::runtime
