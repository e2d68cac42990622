#include "runtime/run/run_context.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "base/random.h"
#include "model/backoff.h"
#include "model/check.h"
#include "model/check_run.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::Thrown;
using seam::RecordedStep;
using seam::StepRecord;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr Duration mark_running_after = 1s;
// How long a body may go on after its time was over, before that is reported without it.
constexpr Duration timeout_grace = 2s;
// No step is started when the lease ends within this time: its result might come too late.
constexpr Duration lease_margin = 50ms;

constexpr std::string_view step_output = "the step's output";

std::chrono::microseconds since(RunContext::Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(RunContext::Clock::now() - start);
}

[[noreturn]] void misuse(const std::string& what) {
    throw Error(ErrorCode::context_misuse, what);
}

[[noreturn]] void throw_step_error(const std::string& id, const std::string& error) {
    const model::RunError stored = model::to_run_error(Json{error});
    throw StepError(id, model::readable(stored), Json{error});
}

Thrown timed_out(Duration timeout, std::string_view and_more) {
    const std::string message =
        fmt::format("it took longer than {} ms{}", timeout.count(), and_more);
    return {Thrown::Kind::transient, "timeout", message, {}, {}};
}

model::RunError step_error(const StepRecord& record, const Thrown& why) {
    return {why.type, why.message, record.id, record.attempt};
}

}  // namespace

RunContext::RunContext(Executing& executing, Committer& committer, seam::Engine& backend)
    : executing_(executing),
      committer_(committer),
      backend_(backend),
      owner_(std::this_thread::get_id()),
      fiber_(base::Fiber::current()),
      uncaught_(std::uncaught_exceptions()),
      log_(std::move(executing.run->steps)) {
    if (const auto& timeout = executing.workflow->run_timeout) {
        const auto left = executing.run->started_at + *timeout - executing.claimed_at;
        deadline_ = executing.claimed_at_steady + left;
    }
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
    if (cancelled() || executing_.lease_ends_at.load() - lease_margin <= Clock::now())
        unwind(End::lost);
    if (deadline_ && *deadline_ <= Clock::now()) unwind(End::timed_out);
    if (executing_.stop.stop_requested()) unwind(End::lost);
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

void RunContext::suspend(Write write) {
    {
        const std::lock_guard lock(mutex_);
        if (end_ == End::none) {
            end_ = End::suspended;
            suspension_ = std::move(write);
        }
    }
    throw Unwinding{};
}

Write RunContext::suspension() {
    const std::lock_guard lock(mutex_);
    return std::move(*suspension_);
}

int RunContext::max_attempts() const {
    return executing_.run->max_attempts.value_or(executing_.workflow->max_attempts);
}

int RunContext::failed_attempts() const {
    return progressed_ ? 1 : executing_.messages.front().attempts + 1;
}

Duration RunContext::backoff(int failures, const StepOptions& options) const {
    return model::backoff(
        failures,
        options.backoff_base.value_or(executing_.workflow->backoff_base),
        options.backoff_cap.value_or(executing_.workflow->backoff_cap),
        base::random_fraction()
    );
}

Write RunContext::suspend_write(RunStatus status, Duration delay) const {
    Write write = seam::settle_write(
        WriteKind::suspend, executing_.messages.front().lease(), std::max(delay, Duration::zero())
    );
    write.status = status;
    write.attempts = progressed_ ? 0 : executing_.messages.front().attempts;
    return write;
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

StepRecord RunContext::take_acquired(const std::string& id) {
    enter();
    auto taken = acquired_.extract(id);
    if (taken.empty()) misuse(fmt::format("step '{}' has its result already", id));
    taken.mapped().record.elapsed = since(taken.mapped().started_at);
    return std::move(taken.mapped().record);
}

void RunContext::succeed(const std::string& id, const Json& output) {
    model::check_output(step_output, output.text, backend_.options().max_payload_bytes);
    StepRecord record = take_acquired(id);
    record.output = output.text;
    commit_body(std::move(record));
}

void RunContext::fail(const std::string& id, const std::string& message) {
    fail_step(take_acquired(id), {}, {Thrown::Kind::permanent, "permanent", message, {}, {}});
}

std::optional<Json> RunContext::replayed(const std::string& id) const {
    const RecordedStep* step = log_.find(id);
    if (step == nullptr || !has_result(step->status)) return std::nullopt;
    if (step->status == StepStatus::error) throw_step_error(id, step->error);
    return Json{step->output.empty() ? std::string("null") : step->output};
}

StepRecord RunContext::new_record(const std::string& id) {
    StepRecord record;
    record.id = id;
    record.position = log_.position(id);
    const RecordedStep* before = log_.find(id);
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
    current.record->elapsed = since(current.started_at);
    return current;
}

Json RunContext::execute(const std::string& id, const StepOptions& options, Context::Body body) {
    begin(new_record(id), options);
    std::optional<std::stop_callback<std::function<void()>>> forward;
    if (options.timeout) {
        forward.emplace(executing_.stop.get_token(), [source = *current_->stop]() mutable {
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
        current.record->output = output.text;
        commit_body(std::move(current.record));
        return output;
    }
    if (deadline_ && *deadline_ <= Clock::now()) unwind(End::timed_out);
    const Thrown why = late ? timed_out(*options.timeout, "") : model::describe(thrown);
    fail_step(std::move(current.record), options, why);
}

Write RunContext::checkpoint(Record record) const {
    Write write = seam::settle_write(WriteKind::checkpoint, executing_.messages.front().lease());
    if (record->status == StepStatus::error && audits()) {
        write.event = "step_failed";
        write.event_data = record->error.value_or("{}");
    } else if (record->status == StepStatus::success && audits_all()) {
        write.event = "step_succeeded";
        write.event_data = step_event_data(*record);
    }
    write.step = std::move(record);
    return write;
}

void RunContext::commit_checkpoint(Write&& write) {
    const WriteOutcome outcome = committer_.commit_one(std::move(write), Committer::Wait::park);
    switch (outcome.status) {
        case WriteStatus::done:
        case WriteStatus::busy:  // never the last word
            progressed_ = true;
            return;
        case WriteStatus::cancelled:
            executing_.cancelled = true;
            unwind(End::lost);
        case WriteStatus::lease_lost:
            unwind(End::lost);
        case WriteStatus::rejected:
            break;
    }
    throw Error(ErrorCode::database_error, "the step could not be recorded: " + outcome.error);
}

// Of a step that had a body: it is counted when it is recorded.
void RunContext::commit_body(Record record) {
    const StepStatus status = record->status;
    const auto elapsed = record->elapsed;
    commit_step(std::move(record));
    HandlerMeters* const meters = executing_.meters;
    if (meters == nullptr) return;
    (status == StepStatus::success ? meters->steps_succeeded : meters->steps_failed).add();
    meters->step_duration.observe(elapsed);
}

void RunContext::fail_step(Record record, const StepOptions& options, const Thrown& why) {
    if (why.kind == Thrown::Kind::pause) {
        --record->attempt;  // a pause uses none
        pause_at(std::move(*record), why.message, why.condition, why.delay);
    }
    Write write = step_failure(std::move(record), options, why);
    if (write.kind == WriteKind::suspend) suspend(std::move(write));
    const std::string id = write.step->id;
    const std::string error = *write.step->error;
    commit_body(std::move(write.step));
    throw_step_error(id, error);
}

// Either another attempt later, or the step's end.
Write RunContext::step_failure(Record record, const StepOptions& options, const Thrown& why) const {
    const int attempts = options.max_attempts.value_or(max_attempts());
    record->error = model::to_json(step_error(*record, why)).text;
    const std::string what = fmt::format("step '{}' of {}", record->id, subject_of(executing_));
    if (why.kind == Thrown::Kind::permanent || record->attempt >= attempts) {
        executing_.log->failed(what, {record->attempt, attempts, {}}, why.message);
        record->status = StepStatus::error;
        return checkpoint(std::move(record));
    }
    const Duration delay = why.delay.value_or(backoff(record->attempt - 1, options));
    executing_.log->failed(what, {record->attempt, attempts, delay}, why.message);
    Write write = suspend_write(RunStatus::running, delay);
    write.reason = model::storable_text(model::readable(step_error(*record, why)));
    if (audits()) {
        write.event = "step_retry";
        write.event_data = *record->error;
    }
    record->status = StepStatus::pending;
    write.step = std::move(record);
    return write;
}

// --- looking around ---

void RunContext::heartbeat() {
    check_caller();
    if (end() != End::none) throw Unwinding{};
    const Message& message = executing_.messages.front();
    const auto asked_at = Clock::now();
    const Write extension = seam::settle_write(
        WriteKind::extend,
        message.lease(),
        std::chrono::duration_cast<Duration>(message.visible_at - executing_.claimed_at)
    );
    const WriteOutcome outcome = committer_.commit_one(Write(extension), Committer::Wait::block);
    executing_.leases->extended(std::span(&extension, 1), std::span(&outcome, 1), asked_at);
    if (cancelled()) unwind(End::lost);
}

std::stop_token RunContext::stop_token() const {
    const std::lock_guard lock(mutex_);
    if (current_ && current_->stop) return current_->stop->get_token();
    return executing_.stop.get_token();
}

int RunContext::attempt() const {
    const std::lock_guard lock(mutex_);
    if (current_) return current_->record->attempt;
    return executing_.messages.front().attempts + 1;
}

// --- the watchdog's part ---

void RunContext::report(Reported what, Write write, Committer::Settled settled) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    if (what == Reported::mark) return committer_.submit(std::move(writes), std::move(settled));
    executing_.reported = true;
    committer_.submit(
        std::move(writes),
        [log = executing_.log,
         what = subject_of(executing_),
         metered = MeteredReport(executing_),
         then = std::move(settled)](auto written, auto outcomes) {
            metered.settled(written, outcomes);
            for (std::size_t i = 0; i < written.size(); ++i) {
                if (has_failed_run(written[i], outcomes[i])) log->run_failed(what, written[i]);
            }
            if (then) then(written, outcomes);
        }
    );
}

std::optional<std::stop_source> RunContext::attend(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (end_ != End::none) return std::nullopt;
    if (!deadline_ || now < *deadline_) return current_ ? attend_step(now) : std::nullopt;
    // In a step's body or between steps: what the function still does is fenced off by this report.
    if (*deadline_ + timeout_grace <= now) {
        report(Reported::end, timeout_write(executing_));
        end_ = End::lost;
    }
    return executing_.stop;
}

std::string RunContext::describe() const {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!current_)
        return fmt::format(
            "{}, outside of its steps, running for {}",
            subject_of(executing_),
            in_seconds(now - executing_.running_since)
        );
    return fmt::format(
        "step '{}' of {}, running for {}",
        current_->record->id,
        subject_of(executing_),
        in_seconds(now - current_->started_at)
    );
}

std::optional<std::stop_source> RunContext::attend_step(Clock::time_point now) {
    Current& current = *current_;
    if (!current.marked && now - current.started_at >= mark_running_after) {
        current.marked = true;
        Record record = current.record;
        record->status = StepStatus::running;
        record->elapsed = since(current.started_at);
        report(Reported::mark, checkpoint(std::move(record)));
    }
    if (!current.stop) return std::nullopt;
    const auto over_at = current.started_at + *current.options->timeout;
    if (now < over_at) return std::nullopt;
    current.timed_out = true;
    if (now < over_at + timeout_grace) return current.stop;
    // The body does not return. What it still does is fenced off by this report.
    current.record->elapsed = since(current.started_at);
    Write write = step_failure(
        current.record,
        *current.options,
        timed_out(*current.options->timeout, " and did not return")
    );
    end_ = End::lost;
    if (write.kind == WriteKind::suspend) {
        report(Reported::end, std::move(write));
    } else {
        // Its last attempt: the failure is recorded, and then another execution finds it.
        report(
            Reported::end,
            std::move(write),
            [&committer = committer_, next = suspend_write(RunStatus::running, {})](auto, auto) {
                committer.submit({next}, {});
            }
        );
    }
    return current.stop;
}

}  // namespace pawl::runtime
