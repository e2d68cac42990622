#include "cli/commands/wait_for_run.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "cli/frame/error_output.h"
#include "cli/frame/literals.h"
#include "cli/frame/value_parsers.h"
#include "cli/output/run_wait.h"

namespace pawl::cli {

namespace {

constexpr Duration check_interval = 2s;  // between two checks whether the run is paused

// Says each wait once.
class WaitRemarks {
public:
    explicit WaitRemarks(const Context& context) : context_(context) {}

    void add(const RunWait& wait) {
        const auto text = wait.sentence(context_.view());
        if (text == last_) return;
        last_ = text;
        context_.remark(fmt::format("run {} is paused: {}", wait.run.value(), text));
        if (!wait.command().empty()) context_.remark("  to continue it: " + wait.command());
        if (!wait.look().empty()) context_.remark("  to see it: " + wait.look());
    }

private:
    const Context& context_;
    std::string last_;
};

// The workflow of a run that no worker takes because the workflow is paused; else empty.
std::string paused_workflow(const Store& store, const RunInfo& run) {
    const bool waits_for_worker =
        run.status == RunStatus::queued || run.status == RunStatus::running;
    const bool paused = waits_for_worker && store.workflow_info(run.workflow).paused;
    return paused ? run.workflow : std::string();
}

[[noreturn]] void throw_not_ended(
    const Context& context, const Store& store, RunId run, Duration timeout
) {
    const auto wait = find_wait(store, run);
    const auto info = store.run(run).info();
    const auto paused = paused_workflow(store, info);
    std::string why = " and continues";
    if (wait) why = ": " + wait->sentence(context.view());
    if (!paused.empty()) why = fmt::format(": workflow '{}' is paused", paused);
    std::string hint = fmt::format("wait again with: pawl run wait {}", run.value());
    if (wait && !wait->look().empty()) hint = "to see what it waits for: " + wait->look();
    if (wait && !wait->command().empty()) hint = "to continue it: " + wait->command();
    if (!paused.empty()) hint = "to continue it: pawl workflow resume " + paused;
    throw HintedError(
        ErrorCode::wait_timeout,
        fmt::format(
            "run {} has not ended within {}; it is {}{}",
            run.value(),
            short_duration(timeout),
            to_string(info.status),
            why
        ),
        hint
    );
}

}  // namespace

Json wait_for_run(const Context& context, const Store& store, RunId run, Duration timeout) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    WaitRemarks remarks(context);
    while (true) {
        const auto wait = find_wait(store, run);
        if (wait) remarks.add(*wait);
        const auto passed = std::chrono::duration_cast<Duration>(Clock::now() - start);
        const Duration left = std::max(timeout - passed, Duration::zero());
        try {
            return store.run(run).wait_json(std::min(left, check_interval));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::wait_timeout) throw;
            if (left > check_interval) continue;
        }
        throw_not_ended(context, store, run, timeout);
    }
}

}  // namespace pawl::cli
