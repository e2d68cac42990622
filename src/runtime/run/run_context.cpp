#include "runtime/run/run_context.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "base/random.h"
#include "model/backoff.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::EventKind;
using model::Thrown;
using seam::AuditEvent;
using seam::Checkpoint;
using seam::ReplayStep;
using seam::StepWrite;
using seam::Suspend;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

// No step is started when the lease ends within this time: its result might come too late.
constexpr Duration lease_margin = 50ms;

constexpr std::string_view step_output = "the step's output";

[[noreturn]] void misuse(const std::string& what) {
    throw Error(ErrorCode::context_misuse, what);
}

[[noreturn]] void throw_step_error(const std::string& id, const std::string& error) {
    const model::RunError stored = model::to_run_error(Json{error});
    throw StepError(id, model::readable(stored), Json{error});
}

model::RunError step_error(const StepWrite& record, const Thrown& why) {
    return {why.type, why.message, record.id, record.attempt};
}

}  // namespace

RunContext::RunContext(RunCall& call, Committer& committer, seam::Engine& backend)
    : call_(call),
      committer_(committer),
      backend_(backend),
      owner_(std::this_thread::get_id()),
      fiber_(base::Fiber::current()),
      uncaught_(std::uncaught_exceptions()),
      log_(std::move(call.run.steps)) {
    if (const auto& timeout = call.workflow->run_timeout) {
        const auto left = call.run.started_at + *timeout - call.claimed_at();
        deadline_ = call.claimed_at_steady() + left;
    }
}

std::chrono::microseconds step_time(RunContext::Clock::time_point started_at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(
        RunContext::Clock::now() - started_at
    );
}

Thrown step_timeout(Duration timeout, std::string_view and_more) {
    const std::string message =
        fmt::format("it took longer than {} ms{}", timeout.count(), and_more);
    return {Thrown::Kind::transient, "timeout", message, {}, {}};
}

// --- the way in and the ways out ---

void RunContext::check_caller() const {
    const base::Fiber* const fiber = base::Fiber::current();
    if (fiber != fiber_ || (fiber == nullptr && std::this_thread::get_id() != owner_))
        misuse(
            "a Context belongs to the thread that runs the workflow's function: gather results "
            "there and record them from it"
        );
    if (std::uncaught_exceptions() > uncaught_)
        misuse("a Context cannot be used while an exception unwinds the stack (from a destructor?)"
        );
}

void RunContext::enter() {
    check_caller();
    if (in_body_)
        misuse(
            "a step's body cannot use steps, pauses or sleeps itself: call them from the "
            "workflow's function"
        );
    if (end() != End::none) throw Unwinding{};
    if (cancelled() || call_.lease_ends_at.load() - lease_margin <= Clock::now()) unwind(End::lost);
    if (deadline_ && *deadline_ <= Clock::now()) unwind(End::timed_out);
    if (call_.stop.stop_requested()) unwind(End::lost);
}

RunContext::End RunContext::end() const {
    const std::lock_guard lock(mutex_);
    return end_;
}

void RunContext::unwind(End end) {
    {
        const std::lock_guard lock(mutex_);
        if (end_ == End::none) end_ = end;
    }
    throw Unwinding{};
}

void RunContext::suspend(Suspend suspend, base::HeapOptional<AuditEvent> event) {
    {
        const std::lock_guard lock(mutex_);
        if (end_ == End::none) {
            end_ = End::suspended;
            suspension_ = Write{call_.lease(), std::move(suspend), std::move(event)};
        }
    }
    throw Unwinding{};
}

void RunContext::suspend_at_step(Suspend waits, StepWrite step) {
    auto event = audited(call_, EventKind::suspended, [&] { return step_event_data(step); });
    waits.step = std::move(step);
    suspend(std::move(waits), std::move(event));
}

Write RunContext::suspension() {
    const std::lock_guard lock(mutex_);
    return std::move(*suspension_);
}

int RunContext::max_attempts() const {
    return call_.run.max_attempts.value_or(call_.workflow->max_attempts);
}

int RunContext::failed_attempts() const {
    return progressed_ ? 1 : call_.message.attempts + 1;
}

Duration RunContext::backoff(int failures, const StepOptions& options) const {
    return model::backoff(
        failures,
        options.backoff_base.value_or(call_.workflow->backoff_base),
        options.backoff_cap.value_or(call_.workflow->backoff_cap),
        base::random_fraction()
    );
}

Suspend RunContext::suspension_for(RunStatus status, Duration delay) const {
    Suspend suspend;
    suspend.status = status;
    suspend.attempts = progressed_ ? 0 : call_.message.attempts;
    suspend.delay = std::max(delay, Duration::zero());
    return suspend;
}

// --- steps ---

Json RunContext::step(const std::string& name, const StepOptions& options, Context::Body body) {
    enter();
    model::check_step_options(name, options, backend_.options().max_payload_bytes);
    const std::string id = log_.next_id(name);
    if (auto result = replayed(id)) return std::move(*result);
    return execute(id, options, body);
}

std::pair<std::string, std::optional<Json>> RunContext::acquire(const std::string& name) {
    enter();
    std::string id = log_.next_id(name);
    auto result = replayed(id);
    if (!result) acquired_.insert_or_assign(id, Acquired{new_record(id), Clock::now()});
    return {std::move(id), std::move(result)};
}

StepWrite RunContext::take_acquired(const std::string& id) {
    enter();
    auto taken = acquired_.extract(id);
    if (taken.empty()) misuse(fmt::format("step '{}' has its result already", id));
    taken.mapped().record.elapsed = step_time(taken.mapped().started_at);
    return std::move(taken.mapped().record);
}

void RunContext::succeed(const std::string& id, const Json& output) {
    model::check_output(step_output, output.text, backend_.options().max_payload_bytes);
    StepWrite record = take_acquired(id);
    record.output = output.text;
    (void)record_executed(std::move(record));
}

void RunContext::fail(const std::string& id, const std::string& message) {
    fail_step(take_acquired(id), {}, {Thrown::Kind::permanent, "permanent", message, {}, {}});
}

std::optional<Json> RunContext::replayed(const std::string& id) const {
    const ReplayStep* step = log_.find(id);
    if (step == nullptr || !has_result(step->status)) return std::nullopt;
    if (step->status == StepStatus::error) throw_step_error(id, step->error);
    return Json{step->output.empty() ? std::string("null") : step->output};
}

StepWrite RunContext::new_record(const std::string& id) {
    StepWrite record;
    record.id = id;
    record.position = log_.position(id);
    const ReplayStep* before = log_.find(id);
    record.attempt = before == nullptr ? 1 : failures(*before) + 1;
    return record;
}

void RunContext::begin(Record record, const StepOptions& options) {
    if (options.input) record->input = options.input->text;
    Current current;
    current.record = std::move(record);
    current.options = &options;
    current.started_at = Clock::now();
    if (options.timeout) current.stop.emplace();
    const std::lock_guard lock(mutex_);
    current_ = std::move(current);
}

// Throws Unwinding where the watchdog has reported the step meanwhile.
RunContext::Current RunContext::finish_body() {
    const std::lock_guard lock(mutex_);
    if (end_ != End::none || !current_) throw Unwinding{};
    Current current = std::move(*current_);
    current_.reset();
    current.record->elapsed = step_time(current.started_at);
    return current;
}

Json RunContext::execute(const std::string& id, const StepOptions& options, Context::Body body) {
    begin(new_record(id), options);
    std::optional<std::stop_callback<std::function<void()>>> forward;
    if (options.timeout) {
        forward.emplace(call_.stop.get_token(), [source = *current_->stop]() mutable {
            source.request_stop();
        });
    }
    Json output;
    std::exception_ptr thrown;
    in_body_ = true;
    try {
        output = body();
        model::check_output(step_output, output.text, backend_.options().max_payload_bytes);
    } catch (const Unwinding&) {
        in_body_ = false;
        throw;
    } catch (...) {
        thrown = std::current_exception();
    }
    in_body_ = false;
    Current current = finish_body();
    if (cancelled()) unwind(End::lost);  // as the body may have been told
    const bool late =
        options.timeout && (current.timed_out || current.record->elapsed >= *options.timeout);
    if (!thrown && !late) {
        current.record->output = std::move(output.text);
        Write written = record_executed(std::move(current.record));
        return Json{std::move(*written.as<Checkpoint>().step->output)};
    }
    if (deadline_ && *deadline_ <= Clock::now()) unwind(End::timed_out);
    const Thrown why = late ? step_timeout(*options.timeout, "") : model::describe(thrown);
    fail_step(std::move(current.record), options, why);
}

Write RunContext::checkpoint(Record record) const {
    base::HeapOptional<AuditEvent> event;
    if (record->status == StepStatus::error)
        event =
            audited(call_, EventKind::step_failed, [&] { return record->error.value_or("{}"); });
    if (record->status == StepStatus::success)
        event = audited(call_, EventKind::step_succeeded, [&] { return step_event_data(*record); });
    return {call_.lease(), Checkpoint{std::move(record)}, std::move(event)};
}

void RunContext::record(const Write& checkpoint) {
    const WriteOutcome outcome = committer_.commit_one(checkpoint, Committer::Wait::park);
    switch (outcome.status) {
        case WriteStatus::done:
        case WriteStatus::busy:  // never the last word
            progressed_ = true;
            return;
        case WriteStatus::cancelled:
            call_.cancelled = true;
            unwind(End::lost);
        case WriteStatus::lease_lost:
            unwind(End::lost);
        case WriteStatus::rejected:
            break;
    }
    throw Error(ErrorCode::database_error, "the step could not be recorded: " + outcome.error);
}

Write RunContext::record_executed(Record step) {
    Write write = checkpoint(std::move(step));
    record(write);
    HandlerMeters* const meters = call_.meters();
    if (meters == nullptr) return write;
    const StepWrite& recorded = *write.as<Checkpoint>().step;
    const bool succeeded = recorded.status == StepStatus::success;
    (succeeded ? meters->steps_succeeded : meters->steps_failed).add();
    meters->step_duration.observe(recorded.elapsed);
    return write;
}

void RunContext::fail_step(Record record, const StepOptions& options, const Thrown& why) {
    if (why.kind == Thrown::Kind::pause) {
        --record->attempt;  // a pause uses none
        pause_at(std::move(*record), why.message, why.condition, why.delay);
    }
    Write write = step_failure(std::move(record), options, why);
    if (write.is<Suspend>()) suspend(std::move(write.as<Suspend>()), std::move(write.event));
    const Write written = record_executed(std::move(write.as<Checkpoint>().step));
    const StepWrite& failed = *written.as<Checkpoint>().step;
    throw_step_error(failed.id, *failed.error);
}

// Either another attempt later, or the step's end.
Write RunContext::step_failure(Record record, const StepOptions& options, const Thrown& why) const {
    const int attempts = options.max_attempts.value_or(max_attempts());
    record->error = model::to_json(step_error(*record, why)).text;
    const std::string what = fmt::format("step '{}' of {}", record->id, call_.subject());
    if (why.kind == Thrown::Kind::permanent || record->attempt >= attempts) {
        call_.log().failed(what, {record->attempt, attempts, {}}, why.message);
        record->status = StepStatus::error;
        return checkpoint(std::move(record));
    }
    const Duration delay = why.delay.value_or(backoff(record->attempt - 1, options));
    call_.log().failed(what, {record->attempt, attempts, delay}, why.message);
    Suspend retry = suspension_for(RunStatus::running, delay);
    retry.last_error = model::storable_text(model::readable(step_error(*record, why)));
    auto event = audited(call_, EventKind::step_retry, [&] { return *record->error; });
    record->status = StepStatus::pending;
    retry.step = std::move(record);
    return {call_.lease(), std::move(retry), std::move(event)};
}

// --- looking around ---

void RunContext::heartbeat() {
    check_caller();
    if (end() != End::none) throw Unwinding{};
    const auto asked_at = Clock::now();
    const Write extension{call_.lease(), seam::Extend{call_.claimed_lease()}};
    const WriteOutcome outcome = committer_.commit_one(extension, Committer::Wait::block);
    call_.leases().extended(std::span(&extension, 1), std::span(&outcome, 1), asked_at);
    if (cancelled()) unwind(End::lost);
}

std::stop_token RunContext::stop_token() const {
    const std::lock_guard lock(mutex_);
    if (current_ && current_->stop) return current_->stop->get_token();
    return call_.stop.get_token();
}

int RunContext::attempt() const {
    const std::lock_guard lock(mutex_);
    if (current_) return current_->record->attempt;
    return call_.message.attempts + 1;
}

}  // namespace pawl::runtime
