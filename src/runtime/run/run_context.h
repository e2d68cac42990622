// The engine behind pawl::Context: replays recorded steps, executes new ones, and turns whatever
// ends an execution into one write.
//
// An execution ends early when the run is suspended (a retry, a pause, a sleep), when it is not
// ours any more, or when its time is over. Then `end_` says how, Unwinding takes the user's stack
// down, and every later call throws it again, so that a catch (...) cannot hold it up.
#pragma once

#include <mutex>
#include <optional>
#include <pawl/context.h>
#include <stop_token>
#include <thread>

#include "model/run_error.h"
#include "runtime/committer.h"
#include "runtime/lease_table.h"
#include "runtime/run/run_call.h"
#include "runtime/run/step_log.h"
#include "runtime/services/watchdog.h"

namespace pawl::runtime {

// Deliberately no std::exception: only pawl catches it.
struct Unwinding {};

class RunContext final : public Watched {
public:
    using Clock = std::chrono::steady_clock;
    enum class End {
        none,       // the handler's own return or exception counts
        suspended,  // suspension() is to be written
        lost,       // nothing is to be written
        timed_out,  // the run's time is over
    };

    RunContext(RunCall& call, Committer& committer, seam::Engine& backend);

    // --- for pawl::Context ---
    Json step(const std::string& name, const StepOptions& options, Context::Body body);
    // The id, and the result where there is one.
    std::pair<std::string, std::optional<Json>> acquire(const std::string& name);
    void succeed(const std::string& id, const Json& output);
    [[noreturn]] void fail(const std::string& id, const std::string& message);
    Json pause(
        const std::string& name, const std::string& message, std::optional<Duration> check_after
    );
    Json call(const std::string& name, const NewRun& run);
    // The id that the last use of the name got.
    [[nodiscard]] std::string id_of(const std::string& name) const { return log_.last_id(name); }
    // The step's result does not decode. An answer to a pause that nothing was recorded after yet
    // is rejected, and the run pauses again; else, and in any case by the second one, an error
    // names the step.
    [[noreturn]] void reject_answer(
        const std::string& name,
        const std::string& question,
        std::optional<Duration> check_after,
        const std::exception_ptr& thrown
    );
    [[noreturn]] static void throw_undecodable(
        const std::string& id, const std::exception_ptr& thrown
    );
    void publish(const std::string& type, const Json& payload, const std::string& aggregate);
    void sleep(Duration time);
    void sleep_until(Timestamp time);
    void heartbeat();
    [[nodiscard]] bool cancelled() const { return call_.is_over(); }
    [[nodiscard]] std::stop_token stop_token() const;
    [[nodiscard]] int attempt() const;
    [[nodiscard]] bool replaying() const { return log_.replaying(); }
    [[nodiscard]] const RunCall& run_call() const { return call_; }
    [[nodiscard]] seam::Engine& backend() const { return backend_; }

    // --- for the runner ---
    [[nodiscard]] End end() const;
    [[nodiscard]] seam::Write suspension();
    // The run's failures without progress, this one included.
    [[nodiscard]] int failed_attempts() const;
    [[nodiscard]] int max_attempts() const;
    [[nodiscard]] Duration backoff(int failures, const StepOptions& options = {}) const;
    // The run waits; its failures without progress are counted on.
    [[nodiscard]] seam::Suspend suspension_for(RunStatus status, Duration delay) const;
    [[nodiscard]] std::optional<Clock::time_point> deadline() const { return deadline_; }

    // --- for the watchdog: marks a long step as RUNNING, enforces the times ---
    std::optional<std::stop_source> check_deadlines(Clock::time_point now) override;
    [[nodiscard]] std::string describe() const override;

private:
    using Record = base::HeapOptional<seam::StepWrite>;
    struct Current {
        Record record;
        const StepOptions* options = nullptr;
        Clock::time_point started_at;
        std::optional<std::stop_source> stop;  // its own, where it has a timeout
        bool marked = false;                   // RUNNING is recorded
        bool timed_out = false;
    };

    struct Acquired {
        seam::StepWrite record;
        Clock::time_point started_at;
    };

    void enter();
    void check_caller() const;
    [[noreturn]] void unwind(End end);
    [[noreturn]] void suspend(seam::Suspend suspend, base::HeapOptional<seam::AuditEvent> event);
    // The same with the event of the highest audit level, for a run that waits at a step.
    [[noreturn]] void suspend_at_step(seam::Suspend suspend, seam::StepWrite step);
    [[nodiscard]] std::optional<Json> replayed(const std::string& id) const;
    [[nodiscard]] seam::StepWrite new_record(const std::string& id);
    Json execute(const std::string& id, const StepOptions& options, Context::Body body);
    void begin(Record record, const StepOptions& options);
    [[nodiscard]] Current finish_body();
    // Records a step whose body was executed, and returns what was written. It is counted when it
    // is recorded.
    seam::Write record_executed(Record step);
    // Waits for the commit.
    void record(const seam::Write& checkpoint);
    [[nodiscard]] seam::StepWrite take_acquired(const std::string& id);
    [[noreturn]] void fail_step(
        Record record, const StepOptions& options, const model::Thrown& why
    );
    [[nodiscard]] seam::Write step_failure(
        Record record, const StepOptions& options, const model::Thrown& why
    ) const;
    [[nodiscard]] seam::Write checkpoint(Record record) const;
    [[noreturn]] void pause_at(
        seam::StepWrite step,
        const std::string& message,
        const std::string& condition,
        std::optional<Duration> check_after
    );
    [[noreturn]] void wait_for_call(seam::StepWrite step, const NewRun& run);
    void sleep_as(Duration delay, std::optional<Timestamp> until);
    [[nodiscard]] std::optional<std::stop_source> check_step_deadline(Clock::time_point now);
    enum class Reported { mark, end };
    // Not waited for.
    void report(Reported what, seam::Write write, Committer::Callback then = {});

    RunCall& call_;
    Committer& committer_;
    seam::Engine& backend_;
    const std::thread::id owner_;
    const base::Fiber* const fiber_;  // where runs share threads, it is the owner
    const int uncaught_;              // exceptions in flight when the handler was called
    StepLog log_;
    std::optional<Clock::time_point> deadline_;
    std::unordered_map<std::string, Acquired> acquired_;
    bool in_body_ = false;
    bool progressed_ = false;

    // The watchdog looks at these too.
    mutable std::mutex mutex_;
    End end_ = End::none;
    std::optional<Current> current_;
    std::optional<seam::Write> suspension_;
};

// Shared by its parts: how long a step has taken, and the failure that a timeout is.
[[nodiscard]] std::chrono::microseconds step_time(RunContext::Clock::time_point started_at);
[[nodiscard]] model::Thrown step_timeout(Duration timeout, std::string_view and_more);

}  // namespace pawl::runtime
