// Holds the suspects of a worker and executes them one by one, according to SuspectPolicy.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <vector>

#include "runtime/committer.h"
#include "runtime/executor.h"
#include "runtime/suspect_policy.h"

namespace pawl::runtime {

// Returns unstarted calls to the store, as if they had not been claimed. Returns the number of
// messages.
int hand_back(
    Committer& committer, LeaseTable& leases, std::span<const std::shared_ptr<Call>> unstarted
);

// Used by the claiming thread only.
class Suspects {
public:
    using Clock = std::chrono::steady_clock;
    using Calls = std::vector<std::shared_ptr<Call>>;

    Suspects(Executor& executor, Committer& committer, LeaseTable& leases)
        : executor_(executor), committer_(committer), leases_(leases) {}

    [[nodiscard]] static bool is_suspect(const Message& message) {
        return SuspectPolicy::is_suspect(message.strikes);
    }

    void hold(Calls calls);
    // Executes the next one if a window may begin, which takes up to half a second, and hands back
    // those that have waited for too long.
    void execute_due(const std::stop_token& stop);
    // Executes the first one now, even if other work must wait, and hands the others back.
    void finish();
    // The number of messages handed back since the last call.
    [[nodiscard]] int take_handed_back();
    [[nodiscard]] Clock::time_point next_check() const;
    int hand_back_all();

private:
    struct DeferredCall {
        std::shared_ptr<Call> call;
        Duration lease{};
        Clock::time_point until;
    };

    void execute_first(const std::stop_token& stop);
    void give_back_old(Clock::time_point now);

    Executor& executor_;
    Committer& committer_;
    LeaseTable& leases_;
    std::vector<DeferredCall> held_;
    int handed_back_ = 0;
    SuspectPolicy policy_;
};

}  // namespace pawl::runtime
