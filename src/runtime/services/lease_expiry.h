// Ends the leases of this process that no heartbeat has extended in time, so that their handlers
// stop: other workers may hold the messages by then. Uses only memory, because the database may
// delay heartbeats.
#pragma once

#include "runtime/lease_table.h"
#include "runtime/services/service_timer.h"

namespace pawl::runtime {

class LeaseExpiry {
public:
    LeaseExpiry(ServiceTimer& timer, LeaseTable& leases);
    ~LeaseExpiry();
    LeaseExpiry(const LeaseExpiry&) = delete;
    LeaseExpiry& operator=(const LeaseExpiry&) = delete;
    void stop() { service_.stop(); }  // idempotent

private:
    LeaseTable& leases_;
    ServiceTimer::Service service_;
};

}  // namespace pawl::runtime
