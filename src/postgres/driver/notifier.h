// Sends NOTIFY after the commit, because commits with a NOTIFY are serialized by one lock of the
// whole server. Notifications within a few milliseconds are sent together. Only if there were none
// for a while, a NOTIFY is part of the commit, which saves a round trip.
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
    ~Notifier();  // sends pending notifications
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    // How to send the next wake-up: inside its transaction if the last one was a while ago.
    [[nodiscard]] Wake next();
    // Both return immediately. Without a topic, all are woken.
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
    std::jthread thread_;  // started by the first notification
};

}  // namespace pawl::postgres
