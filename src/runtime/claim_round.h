// One round of poll_once(): everything that was ready when the round began is claimed once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "runtime/committer.h"
#include "runtime/executor.h"
#include "seam/claim.h"

namespace pawl::runtime {

// A message that becomes ready again after it was settled, or that was enqueued later, is late: it
// is held so that it is not claimed again, and handed back at the end without a strike.
class ClaimRound {
public:
    using Clock = std::chrono::steady_clock;
    using Calls = std::vector<std::shared_ptr<Call>>;

    ClaimRound(Committer& committer, LeaseTable& leases) : committer_(committer), leases_(leases) {}

    // True if the claim contains a message that was ready when the round began.
    [[nodiscard]] bool note(const seam::Claim& claim);
    void hold_late(Calls calls, Clock::time_point asked_at);
    // Hands back the late calls whose holding time has elapsed at `now`.
    void hand_back_late(Clock::time_point now);
    void hand_back_all_late() { hand_back_late(Clock::time_point::max()); }
    [[nodiscard]] bool may_hold_more() const { return late_.size() < max_late; }
    [[nodiscard]] Clock::time_point next_check() const;

private:
    struct Late {
        std::shared_ptr<Call> call;
        Clock::time_point until;  // end of the holding time; the lease is not extended
    };
    static constexpr std::size_t max_late = 1000;

    Committer& committer_;
    LeaseTable& leases_;
    std::optional<Timestamp> began_;
    std::unordered_set<MessageId> claimed_;
    std::vector<Late> late_;
};

}  // namespace pawl::runtime
