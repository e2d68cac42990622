#include "store/claim_stream.h"

#include <algorithm>

namespace pawl::store {

namespace {
constexpr std::size_t wide = 32;
constexpr Duration look_through_every = 100ms;
}  // namespace

ClaimStream::ClaimStream(Backend& backend, WorkerId worker, std::optional<Duration> lease)
    : backend_(backend) {
    request_.worker = worker;
    request_.lease = lease;
}

void ClaimStream::set_queues(std::vector<QueueId> queues) {
    if (queues == all_) return;
    all_ = std::move(queues);
    few_.clear();
}

Claim ClaimStream::next(int max_messages, Scan scan) {
    request_.max_messages = max_messages;
    request_.scan = scan;
    const auto now = std::chrono::steady_clock::now();
    if (!few_.empty() && scan == Scan::streaming && now - looked_at_ < look_through_every) {
        request_.queues = few_;
        Claim claim = backend_.claim(request_);
        request_.after = claim.after;
        if (claim.messages.size() < static_cast<std::size_t>(max_messages)) few_.clear();
        // Short is not empty-handed: what the others have comes with the next call.
        if (!claim.messages.empty()) return claim;
    }
    request_.queues = all_;
    request_.after = after_;
    Claim claim = backend_.claim(request_);
    request_.after = after_ = claim.after;
    looked_at_ = now;
    few_.clear();
    if (all_.size() > wide && claim.messages.size() == static_cast<std::size_t>(max_messages)) {
        few_ = claim.queues;
        std::ranges::sort(few_);
        few_.erase(std::unique(few_.begin(), few_.end()), few_.end());
    }
    return claim;
}

}  // namespace pawl::store
