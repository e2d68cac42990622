// LISTEN on a separate connection: passes wake-ups of other processes to the hub, and ends of runs
// to the signals. Reconnects by itself. After each connect it wakes all waiters, because
// notifications may have been missed.
#pragma once

#include <stop_token>
#include <thread>

#include "base/log.h"
#include "base/outage.h"
#include "postgres/driver/connection.h"
#include "seam/run_wakeups.h"
#include "seam/wake_hub.h"

namespace pawl::postgres {

class Listener {
public:
    struct Times {
        Duration connect;  // for each host
        Duration probe;    // without a notification for this time, the server is probed
        Duration answer;   // limit for answers to LISTEN and to a probe
    };

    Listener(
        const PostgresTarget& target,
        const Times& times,
        seam::WakeHub& hub,
        seam::RunWakeups& signals,
        base::Log log,
        base::Outage& outage
    );
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

private:
    void work(const std::stop_token& stop);
    void listen(const std::stop_token& stop, base::Outage::Reporter& outage);
    void deliver(PGconn* connection);

    const PostgresTarget target_;
    const Times times_;
    seam::WakeHub& hub_;
    seam::RunWakeups& signals_;
    base::Log log_;
    base::Outage& outage_;
    int wake_fd_;  // ends all waits when a stop is requested
    static constexpr Duration first_pause{100};
    Duration pause_ = first_pause;  // before the next attempt to connect
    std::jthread thread_;
};

}  // namespace pawl::postgres
