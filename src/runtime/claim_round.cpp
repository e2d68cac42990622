#include "runtime/claim_round.h"

#include <algorithm>

#include "runtime/suspects.h"

namespace pawl::runtime {

bool ClaimRound::note(const seam::Claim& claim) {
    if (!began_) began_ = claim.now;
    bool found_ready = false;
    for (const Message& message : claim.messages) {
        const bool first = claimed_.insert(message.id).second;
        if (first && message.enqueued_at <= *began_) found_ready = true;
    }
    return found_ready;
}

void ClaimRound::hold_late(Calls calls, Clock::time_point asked_at) {
    for (auto& call : calls) {
        const auto until = asked_at + SuspectPolicy::hold_time(call->claimed_lease());
        late_.push_back({std::move(call), until});
    }
}

void ClaimRound::hand_back_late(Clock::time_point now) {
    Calls calls;
    std::erase_if(late_, [&](Late& late) {
        const bool over = late.until <= now;
        if (over) calls.push_back(std::move(late.call));
        return over;
    });
    hand_back(committer_, leases_, calls);
}

ClaimRound::Clock::time_point ClaimRound::next_check() const {
    auto next = Clock::time_point::max();
    for (const Late& late : late_) next = std::min(next, late.until);
    return next;
}

}  // namespace pawl::runtime
