#include "runtime/services/lease_expiry.h"

namespace pawl::runtime {

LeaseExpiry::LeaseExpiry(ServiceTimer& timer, LeaseTable& leases)
    : leases_(leases),
      service_(timer, "expiry of leases", [&leases](auto now) { return leases.expire(now); }) {
    leases_.on_sooner([this](auto end) { service_.run_by(end); });
    service_.start();
}

LeaseExpiry::~LeaseExpiry() {
    leases_.on_sooner({});
}

}  // namespace pawl::runtime
