// Sends NOTIFY after the commit it tells of: commits with a NOTIFY queue behind one lock of the
// whole server. What gathers within a few milliseconds goes out as one. Only where it is quiet a
// NOTIFY may ride inside the commit, which saves a round trip.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/log.h"
#include "postgres/driver/pool.h"
#include "seam/wake_topic.h"

namespace pawl::postgres {

enum class Wake { in_transaction, after_commit };

class Notifier {
public:
    Notifier(Pool& pool, base::Log log) : pool_(pool), log_(std::move(log)) {}
    ~Notifier();  // sends what is pending
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    // How the next wake-up shall be sent: inside its transaction, where the last one was a while
    // ago.
    [[nodiscard]] Wake next();
    // Both return immediately. No topic: wakes all.
    void wake(const std::optional<seam::WakeTopic>& topic);
    void run_ended(RunId run);

private:
    void add(std::string payload);
    void work(const std::stop_token& stop);
    void send(const std::set<std::string>& payloads);

    Pool& pool_;
    base::Log log_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::set<std::string> pending_;
    std::chrono::steady_clock::time_point last_{};
    std::jthread thread_;  // started by the first one
};

}  // namespace pawl::postgres
