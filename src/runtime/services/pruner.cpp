#include "runtime/services/pruner.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// Percent of the time. If the database is busy, batches take longer, and so do the pauses.
constexpr int share_when_busy = 5;
constexpr int share_when_idle = 20;
constexpr Duration prune_after_error = std::chrono::minutes(1);

}  // namespace

Pruner::~Pruner() {
    stop();
}

void Pruner::start(ServiceTimer& timer) {
    const std::lock_guard lock(lifecycle_);
    if (service_) return;
    service_.emplace(timer, "pruner", [this](Clock::time_point) { return tick(); });
    service_->start();
}

void Pruner::stop() {
    const std::lock_guard lock(lifecycle_);
    service_.reset();
    hand_back();
}

Clock::time_point Pruner::tick() {
    Duration pause = std::min(prune_after_error, backend_.options().prune_interval);
    try {
        pause = run_batch();
    } catch (const std::exception& error) {
        const std::lock_guard lock(batch_mutex_);
        pass_.reset();
        if (!base::Outage::Reporter(backend_.outage()).failed(error))
            backend_.log().warning(fmt::format("pruning failed, retrying: {}", error.what()));
    }
    return Clock::now() + pause;
}

Duration Pruner::run_batch() {
    const std::lock_guard lock(batch_mutex_);
    const Duration interval = backend_.options().prune_interval;
    if (!pass_) {
        const auto turn = backend_.claim_prune(interval, seam::PruneTurn::next);
        if (!turn.granted) return std::clamp<Duration>(turn.wait, 1ms, interval);
        claimed_at_ = Clock::now();
        pass_.emplace(backend_, PruneOptions{});
    } else if (Clock::now() - claimed_at_ > interval / 2) {
        backend_.claim_prune(interval, seam::PruneTurn::keep);
        claimed_at_ = Clock::now();
    }
    if (pass_->step()) return pass_->pause(busy_() ? share_when_busy : share_when_idle);
    end_pass();
    return interval;
}

void Pruner::end_pass() {
    const PruneReport& report = pass_->report();
    for (const PruneReport::Part& part : report.parts) {
        if (part.pruned == 0) continue;
        backend_.log().info(fmt::format(
            "pruned {} of {}{}{}",
            part.pruned,
            to_string(part.kind),
            part.name.empty() ? "" : " of ",
            part.name
        ));
    }
    pass_.reset();
}

// In the middle of a pass: lets another worker continue immediately.
void Pruner::hand_back() {
    const std::lock_guard lock(batch_mutex_);
    if (!pass_) return;
    pass_.reset();
    try {
        backend_.claim_prune(Duration::zero(), seam::PruneTurn::keep);
    } catch (const std::exception& error) {
        backend_.log().info(fmt::format(
            "cannot hand back the pruning turn, the next pass starts after prune_interval: {}",
            error.what()
        ));
    }
}

}  // namespace pawl::runtime
