// Extends everything this process holds, in one batch per interval, over a connection of its own,
// and learns what an operator wants of the worker.
#pragma once

#include <functional>
#include <thread>

#include "runtime/lease_table.h"
#include "store/backend.h"

namespace pawl::runtime {

class Heartbeat {
public:
    using Obey = std::function<void(WorkerStatus stored)>;

    Heartbeat(
        store::Backend& backend, WorkerId worker, Duration interval, LeaseTable& leases, Obey obey
    );
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;
    void stop();  // idempotent

private:
    void work(const std::stop_token& stop);
    void beat();

    store::Backend& backend_;
    const WorkerId worker_;
    const Duration interval_;
    LeaseTable& leases_;
    Obey obey_;
    std::jthread thread_;
};

}  // namespace pawl::runtime
