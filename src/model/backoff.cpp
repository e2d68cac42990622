#include "model/backoff.h"

#include <algorithm>

#include "model/rules.h"

namespace pawl::model {

Duration backoff(int failures, Duration base, Duration cap, double jitter) {
    Duration raw = std::min(base, cap);
    if (raw == Duration::zero()) return raw;
    for (int i = 0; i < failures && raw < cap; ++i) {
        raw = raw > cap / 2 ? cap : raw * 2;  // stays below the cap: no overflow
    }
    return raw + Duration(static_cast<Duration::rep>(
                     static_cast<double>(raw.count()) * jitter / rules::jitter_part
                 ));
}

}  // namespace pawl::model
