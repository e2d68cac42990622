#include "runtime/run/run_deadlines.h"

#include <fmt/format.h>

#include "model/rules.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/run/run_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::Suspend;
using seam::Write;

namespace {
using Clock = RunExecution::Clock;
using End = RunExecution::End;
}  // namespace

void RunDeadlines::report(Reported what, Write write, Committer::Callback then) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    if (what == Reported::mark)
        return run_.committer().submit_unbounded(std::move(writes), std::move(then));
    run_.call().reported = true;
    run_.committer().submit_unbounded(
        std::move(writes),
        [log = &run_.call().log(),
         what = run_.call().subject(),
         metered = MeteredReport(run_.call()),
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

std::optional<std::stop_source> RunDeadlines::check_deadlines(Clock::time_point now) {
    const auto shared = run_.lock();
    if (shared->end != End::none) return std::nullopt;
    const auto deadline = run_.deadline();
    if (!deadline || now < *deadline) return shared->step ? check_step(*shared, now) : std::nullopt;
    // In a step or between steps: this report fences off everything that the function still does.
    if (*deadline + model::rules::task_grace <= now) {
        report(Reported::end, timeout_write(run_.call()));
        shared->end = End::lost;
    }
    return run_.call().stop;
}

std::string RunDeadlines::describe() const {
    const auto shared = run_.lock();
    const RunCall& call = run_.call();
    const auto now = Clock::now();
    if (!shared->step)
        return fmt::format(
            "{}, outside of its steps, running for {}",
            call.subject(),
            in_seconds(now - call.running_since)
        );
    return fmt::format(
        "step '{}' of {}, running for {}",
        shared->step->record->id,
        call.subject(),
        in_seconds(now - shared->step->started_at)
    );
}

// The run's state is locked.
std::optional<std::stop_source> RunDeadlines::check_step(
    RunExecution::Shared& shared, Clock::time_point now
) {
    RunExecution::RunningStep& step = *shared.step;
    if (!step.marked && now - step.started_at >= model::rules::short_step) {
        step.marked = true;
        RunExecution::Record record = step.record;
        record->status = StepStatus::running;
        measure(*record, step.started_at);
        report(Reported::mark, run_.checkpoint(std::move(record)));
    }
    if (!step.stop) return std::nullopt;
    const auto over_at = step.started_at + *step.options->timeout;
    if (now < over_at) return std::nullopt;
    step.timed_out = true;
    if (now < over_at + model::rules::task_grace) return step.stop;
    // The step's body does not return. This report fences off everything that it still does.
    measure(*step.record, step.started_at);
    Write write = steps_.step_failure(
        step.record, *step.options, step_timeout(*step.options->timeout, " and did not return")
    );
    shared.end = End::lost;
    if (write.is<Suspend>()) {
        report(Reported::end, std::move(write));
    } else {
        // The last attempt: the failure is recorded, and another execution replays it.
        report(
            Reported::end,
            std::move(write),
            [&committer = run_.committer(),
             next = Write{run_.call().lease(), run_.suspension_for(RunStatus::running, {})}](
                auto, auto
            ) { committer.submit({next}, {}); }
        );
    }
    return step.stop;
}

}  // namespace pawl::runtime
