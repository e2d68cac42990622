// The fixture for workflows: runs at the seam (claim, commit), and with a worker in the test
// process.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "model/run_error.h"
#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {

using seam::Attempt;
using seam::AuditEvent;
using seam::Checkpoint;
using seam::Finish;
using seam::Suspend;
using seam::Write;
using seam::WriteStatus;

// A run that the test has claimed.
struct Held {
    Message message;
    seam::ClaimedRun run;
    [[nodiscard]] Lease lease() const { return message.lease(); }
    [[nodiscard]] RunId id() const { return RunId(message.id.value()); }
};

class WorkflowTest : public StoreTest {
protected:
    using Run = pawl::Run;  // hides a function of the test framework

    WorkflowInfo make_workflow(const std::string& name = "job", const WorkflowOptions& options = {})
        const;
    [[nodiscard]] RunId trigger(
        const std::string& name = "job", const Json& input = {}, const TriggerOptions& options = {}
    ) const;
    // Inputs 0, 1, 2, ...
    [[nodiscard]] std::vector<RunId> trigger_many(int count, const std::string& name = "job") const;

    [[nodiscard]] seam::Claim claim(
        int count = 1, const std::string& name = "job", WorkerId worker = {}
    ) const;
    [[nodiscard]] Held claim_one(const std::string& name = "job", WorkerId worker = {}) const;
    [[nodiscard]] std::vector<Held> claim_many(int count, const std::string& name = "job") const;
    [[nodiscard]] Held trigger_and_claim(const std::string& name = "job", const Json& input = {})
        const;

    WriteStatus commit(const Write& write, Attempt attempt = Attempt::first) const;
    std::vector<WriteStatus> commit_all(
        const std::vector<Write>& writes, Attempt attempt = Attempt::first
    ) const;

    [[nodiscard]] RunInfo info(RunId run) const { return store().run(run).info(); }
    [[nodiscard]] RunStatus status(RunId run) const { return info(run).status; }
    [[nodiscard]] StepInfo step(RunId run, const std::string& id) const {
        return store().run(run).step(id);
    }
    [[nodiscard]] std::vector<std::string> step_ids(RunId run) const;
    [[nodiscard]] bool has_event(RunId run, const std::string& kind) const;
    [[nodiscard]] std::string event_kinds(RunId run) const;
    // The live message of a run; none if the run has ended.
    [[nodiscard]] std::optional<Message> message_of(RunId run, const std::string& name = "job")
        const;

    // With PAWL_TEST_SHARE_THREADS set the whole suite runs with workers that share threads.
    [[nodiscard]] static bool shares_threads() {
        return std::getenv("PAWL_TEST_SHARE_THREADS") != nullptr;
    }
    template <class F>
    [[nodiscard]] Worker worker_for(F function, const std::string& name = "job") const {
        return worker("w")
            .handle(name, std::move(function))
            .share_threads(shares_threads())
            .create(store());
    }
    [[nodiscard]] bool finished(RunId run) const {
        return eventually([&] { return is_finished(status(run)); });
    }
};

// The parsed error of a run or step.
model::RunError error_in(const std::optional<Json>& error);

Write checkpoint(
    const Lease& lease, const std::string& step, int position, const std::string& output = "null"
);
Write running(const Lease& lease, const std::string& step, int position, int attempt = 1);
Write failed_step(const Lease& lease, const std::string& step, int position);
// A step that is to be executed again after `delay`.
Write retry_step(
    const Lease& lease, const std::string& step, int position, int attempt, Duration delay
);
Write pause_step(const Lease& lease, const std::string& step, int position, Duration check_after);
Write sleep_step(const Lease& lease, const std::string& step, int position, Duration time);
Write success(const Lease& lease, const std::string& output = "null");
Write failure(const Lease& lease, const std::string& message = "no luck");

}  // namespace pawl::test

namespace pawl {

inline void PrintTo(RunStatus status, std::ostream* out) {
    *out << to_string(status);
}
inline void PrintTo(StepStatus status, std::ostream* out) {
    *out << to_string(status);
}
namespace seam {
void PrintTo(WriteStatus status, std::ostream* out);
}

}  // namespace pawl
