// Queries the store's backlog for scrapes, on its own thread, so that a slow or unreachable
// database does not delay a scrape. Limits the load on the database.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "seam/backend.h"

namespace pawl::metrics {

class StoreSampler {
public:
    StoreSampler(
        std::shared_ptr<seam::Backend> backend, std::vector<std::string> queues, Duration refresh
    );
    StoreSampler(const StoreSampler&) = delete;
    StoreSampler& operator=(const StoreSampler&) = delete;
    ~StoreSampler() = default;

    // The last result, after a new query if one is due. Nullopt if the last query failed, or if
    // none has succeeded for long.
    [[nodiscard]] std::optional<seam::Backlog> sample();

private:
    using Clock = std::chrono::steady_clock;

    void work(const std::stop_token& stop);
    void query();
    [[nodiscard]] bool is_due(Clock::time_point now) const;

    const std::shared_ptr<seam::Backend> backend_;
    const std::vector<std::string> queues_;
    const Duration refresh_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool wanted_ = false;
    std::optional<seam::Backlog> last_;
    std::optional<Clock::time_point> queried_at_;  // when the last query ended
    Clock::duration took_{};                       // the duration of the last query
    std::jthread thread_;
};

}  // namespace pawl::metrics
