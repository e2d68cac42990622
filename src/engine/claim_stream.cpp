#include "engine/claim_stream.h"

#include <algorithm>

#include "model/rules.h"

namespace pawl::engine {

namespace {
constexpr Duration search_all_every = 100ms;
}  // namespace

ClaimStream::ClaimStream(seam::Engine& backend, WorkerId worker, std::optional<Duration> lease)
    : backend_(backend) {
    request_.worker = worker;
    request_.lease = lease;
}

void ClaimStream::set_queues(std::vector<QueueId> queues) {
    if (queues == all_) return;
    all_ = std::move(queues);
    busy_.clear();
}

seam::Claim ClaimStream::claim_from(const std::vector<QueueId>& queues, QueueId after) {
    request_.queues = queues;
    request_.after = after;
    return backend_.claim(request_);
}

seam::Claim ClaimStream::next(int max_messages, seam::Scan scan) {
    request_.max_messages = max_messages;
    request_.scan = scan;
    const auto wanted = static_cast<std::size_t>(max_messages);
    const auto now = std::chrono::steady_clock::now();
    if (scan == seam::Scan::streaming && now - searched_at_ < search_all_every) {
        seam::Claim claim = claim_busy(wanted);
        if (!claim.messages.empty()) {
            claim.more = true;  // the other queues were not searched
            return claim;
        }
    }
    const QueueId began_after = after_;
    seam::Claim claim = claim_from(all_, after_);
    after_ = claim.after;
    searched_at_ = now;
    busy_.clear();
    if (all_.size() <= model::rules::wide_set) return claim;
    track_turn(claim, began_after);
    if (claim.messages.size() == wanted &&
        claim.messages.front().priority == claim.messages.back().priority)
        busy_.assign(claim.queues.begin(), claim.queues.end());
    std::ranges::sort(busy_);
    busy_.erase(std::unique(busy_.begin(), busy_.end()), busy_.end());
    return claim;
}

// Claims from one queue at a time, which is the cheapest claim. A queue that does not fill its
// claim is no longer busy.
seam::Claim ClaimStream::claim_busy(std::size_t wanted) {
    while (!busy_.empty()) {
        const QueueId queue = busy_.front();
        seam::Claim claim = claim_from({queue}, {});
        busy_.pop_front();
        if (claim.messages.size() == wanted) busy_.push_back(queue);
        if (!claim.messages.empty()) return claim;
    }
    return {};
}

// A turn that began in the middle of the set has not searched the queues before it.
void ClaimStream::track_turn(seam::Claim& claim, QueueId began_after) {
    if (!began_after) {
        whole_turn_ = true;
        next_due_.reset();
    }
    if (!claim.messages.empty()) whole_turn_ = false;
    if (claim.next_due && (!next_due_ || *claim.next_due < *next_due_)) next_due_ = claim.next_due;
    claim.next_due = next_due_;
    if (!claim.more && !whole_turn_) claim.more = true;
}

}  // namespace pawl::engine
