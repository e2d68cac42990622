// Claims again and again over a set of queues, as a worker does. Of a wide set (hundreds of queues)
// mostly few have work: those are asked first, and all are looked through every 100 ms, or when the
// few run short.
#pragma once

#include <chrono>

#include "store/backend.h"

namespace pawl::store {

class ClaimStream {
public:
    ClaimStream(Backend& backend, WorkerId worker, std::optional<Duration> lease);

    void set_queues(std::vector<QueueId> queues);
    [[nodiscard]] const std::vector<QueueId>& queues() const { return all_; }
    [[nodiscard]] Claim next(int max_messages, Scan scan);

private:
    Backend& backend_;
    ClaimRequest request_;
    std::vector<QueueId> all_;
    QueueId after_;  // in the whole set
    std::vector<QueueId> few_;
    std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace pawl::store
