#include "runtime/services/pruner.h"

#include <algorithm>
#include <fmt/format.h>

#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// Percent of the time. Batches take longer while the database is busy, and so do the pauses.
constexpr int share_beside_work = 5;
constexpr int share_when_idle = 20;
constexpr Duration prune_after_error = std::chrono::minutes(1);

}  // namespace

Pruner::~Pruner() {
    stop();
}

void Pruner::start() {
    const std::lock_guard lock(lifecycle_);
    if (!thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void Pruner::stop() {
    const std::lock_guard lock(lifecycle_);
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
        thread_ = {};
    }
    hand_back();
}

void Pruner::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        Duration pause = std::min(prune_after_error, backend_.options().prune_interval);
        try {
            pause = look();
        } catch (const std::exception& error) {
            const std::lock_guard lock(look_mutex_);
            pass_.reset();
            if (!base::Outage::Reporter(backend_.outage()).failed(error))
                backend_.log().warning(fmt::format("pruning failed, retrying: {}", error.what()));
        }
        sleep_until_stop(Clock::now() + pause, stop);
    }
}

Duration Pruner::look() {
    const std::lock_guard lock(look_mutex_);
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
    if (pass_->step()) return pass_->pause(busy_() ? share_beside_work : share_when_idle);
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

// In the middle of a pass: another worker goes on at once.
void Pruner::hand_back() {
    const std::lock_guard lock(look_mutex_);
    if (!pass_) return;
    pass_.reset();
    try {
        backend_.claim_prune(Duration::zero(), seam::PruneTurn::keep);
    } catch (const std::exception& error) {
        backend_.log().info(fmt::format("the next pruning waits for its time: {}", error.what()));
    }
}

}  // namespace pawl::runtime
