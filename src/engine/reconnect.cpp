#include "engine/reconnect.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/deadline.h"

namespace pawl::engine {

Retry::Retry(seam::Engine& backend)
    : backend_(backend),
      outage_(backend.outage()),
      deadline_(base::deadline_after(backend.options().retry_timeout)) {}

Retry::~Retry() {
    if (std::uncaught_exceptions() == uncaught_) outage_.succeeded();
}

bool Retry::again(const Error& error) {
    return error.retryable() && !error.in_doubt() && wait(error);
}

bool Retry::wait(const Error& error) {
    // The first repetition comes at once: mostly an idle connection had died unnoticed.
    if (pause_ > Duration::zero() && !outage_.failed(error))
        backend_.log().warning(fmt::format("call failed, retrying: {}", error.what()));
    return pause();
}

bool Retry::wait(std::string_view why) {
    if (pause_ == Duration(20)) backend_.log().warning(fmt::format("retrying: {}", why));
    return pause();
}

bool Retry::pause() {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    if (left <= decltype(left)::zero()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(pause_, left));
    pause_ = std::clamp<Duration>(pause_ * 2, 20ms, 1s);
    return true;
}

std::vector<seam::WriteOutcome> settle(seam::Engine& backend, std::span<const seam::Write> writes) {
    Retry retry(backend);
    std::vector<seam::WriteOutcome> outcomes(writes.size());
    std::vector<seam::Write> pending(writes.begin(), writes.end());
    std::vector<std::size_t> places(writes.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    seam::Attempt attempt = seam::Attempt::first;
    while (!pending.empty()) {
        std::vector<seam::WriteOutcome> results;
        try {
            results = backend.commit(pending, attempt);
        } catch (const Error& error) {
            if (!error.retryable() || !retry.wait(error)) throw;
            if (error.in_doubt()) attempt = seam::Attempt::repeated;
            continue;
        }
        std::vector<seam::Write> busy;
        std::vector<std::size_t> busy_places;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i].status != seam::WriteStatus::busy) {
                outcomes[places[i]] = std::move(results[i]);
                continue;
            }
            busy.push_back(std::move(pending[i]));
            busy_places.push_back(places[i]);
        }
        if (!busy.empty() && !retry.wait("messages are locked by another transaction")) {
            throw Error(
                ErrorCode::busy,
                fmt::format("{} messages stay locked by another transaction", busy.size())
            )
                .mark_retryable();
        }
        pending = std::move(busy);
        places = std::move(busy_places);
    }
    return outcomes;
}

}  // namespace pawl::engine
