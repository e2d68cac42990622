#include "metrics/store_sampler.h"

#include <fmt/format.h>

namespace pawl::metrics {

namespace {

constexpr Duration answer_within = 1s;  // the longest time that a scrape waits for a query
constexpr Duration good_for = std::chrono::minutes(1);  // while a query takes long
// Counting millions of messages takes long. Queries may take up to 1/20 of the time.
constexpr int share_of_time = 20;

}  // namespace

StoreSampler::StoreSampler(
    std::shared_ptr<seam::Backend> backend, std::vector<std::string> queues, Duration refresh
)
    : backend_(std::move(backend)),
      queues_(std::move(queues)),
      refresh_(refresh),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

std::optional<seam::Backlog> StoreSampler::sample() {
    std::unique_lock lock(mutex_);
    if (is_due(Clock::now())) {
        wanted_ = true;
        changed_.notify_all();
        changed_.wait_for(lock, answer_within, [&] { return !wanted_; });
    }
    if (!queried_at_ || Clock::now() - *queried_at_ > std::max(good_for, refresh_ * 2)) return {};
    return last_;
}

bool StoreSampler::is_due(Clock::time_point now) const {
    return !queried_at_ || refresh_ == Duration::zero() ||
           now - *queried_at_ >= std::max<Clock::duration>(refresh_, took_ * share_of_time);
}

void StoreSampler::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return wanted_; })) {
        lock.unlock();
        query();
        lock.lock();
        wanted_ = false;
        changed_.notify_all();
    }
}

void StoreSampler::query() {
    const auto began_at = Clock::now();
    std::optional<seam::Backlog> found;
    try {
        found = backend_->backlog(queues_);
    } catch (const std::exception& error) {
        if (!base::Outage::Reporter(backend_->outage()).failed(error))
            backend_->log().warning(
                fmt::format("metrics: cannot read the store's backlog: {}", error.what())
            );
    }
    const std::lock_guard lock(mutex_);
    last_ = std::move(found);
    queried_at_ = Clock::now();
    took_ = *queried_at_ - began_at;
}

}  // namespace pawl::metrics
