// What the watchdog does for a run that executes: it marks a long step as RUNNING, and reports what
// takes longer than its timeout and does not return.
#include <fmt/format.h>

#include "model/rules.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/run/run_context.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::Suspend;
using seam::Write;

void RunContext::report(Reported what, Write write, Committer::Callback then) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    if (what == Reported::mark) return committer_.submit(std::move(writes), std::move(then));
    call_.reported = true;
    committer_.submit(
        std::move(writes),
        [log = &call_.log(),
         what = call_.subject(),
         metered = MeteredReport(call_),
         then = std::move(then
         )](std::span<const Write> written, std::span<const seam::WriteOutcome> outcomes) {
            metered.committed(written, outcomes);
            for (std::size_t i = 0; i < written.size(); ++i) {
                if (has_failed_run(written[i], outcomes[i]))
                    log->run_failed(what, written[i].as<seam::Finish>());
            }
            if (then) then(written, outcomes);
        }
    );
}

std::optional<std::stop_source> RunContext::check_deadlines(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (end_ != End::none) return std::nullopt;
    if (!deadline_ || now < *deadline_) return current_ ? check_step_deadline(now) : std::nullopt;
    // In a step's body or between steps: what the function still does is fenced off by this report.
    if (*deadline_ + model::rules::task_grace <= now) {
        report(Reported::end, timeout_write(call_));
        end_ = End::lost;
    }
    return call_.stop;
}

std::string RunContext::describe() const {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!current_)
        return fmt::format(
            "{}, outside of its steps, running for {}",
            call_.subject(),
            in_seconds(now - call_.running_since)
        );
    return fmt::format(
        "step '{}' of {}, running for {}",
        current_->record->id,
        call_.subject(),
        in_seconds(now - current_->started_at)
    );
}

std::optional<std::stop_source> RunContext::check_step_deadline(Clock::time_point now) {
    Current& current = *current_;
    if (!current.marked && now - current.started_at >= model::rules::short_step) {
        current.marked = true;
        Record record = current.record;
        record->status = StepStatus::running;
        record->elapsed = step_time(current.started_at);
        report(Reported::mark, checkpoint(std::move(record)));
    }
    if (!current.stop) return std::nullopt;
    const auto over_at = current.started_at + *current.options->timeout;
    if (now < over_at) return std::nullopt;
    current.timed_out = true;
    if (now < over_at + model::rules::task_grace) return current.stop;
    // The body does not return. What it still does is fenced off by this report.
    current.record->elapsed = step_time(current.started_at);
    Write write = step_failure(
        current.record,
        *current.options,
        step_timeout(*current.options->timeout, " and did not return")
    );
    end_ = End::lost;
    if (write.is<Suspend>()) {
        report(Reported::end, std::move(write));
    } else {
        // Its last attempt: the failure is recorded, and then another execution finds it.
        report(
            Reported::end,
            std::move(write),
            [&committer = committer_,
             next = Write{call_.lease(), suspension_for(RunStatus::running, {})}](auto, auto) {
                committer.submit({next}, {});
            }
        );
    }
    return current.stop;
}

}  // namespace pawl::runtime
