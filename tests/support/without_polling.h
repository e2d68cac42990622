// A fixture whose stores and workers never poll within the time of a test: what the test waits for
// arrives by a wake-up (NOTIFY, the file watch, the hub of the process) or not at all.
#pragma once

#include <pawl/pawl.h>

#include "engine/access.h"
#include "seam/backend.h"
#include "support/expect.h"

namespace pawl::test {

// A wait checks once more when its time has elapsed, so it must not end within the test: without a
// wake-up the time limit of the test ends it.
inline constexpr Duration no_limit = std::chrono::hours(1);

// True once a dequeue waits in the store.
inline bool waits_for_work(const Store& store) {
    return eventually([&] { return detail::Access::backend(store)->wake_hub().waiters() > 0; });
}
// True once a started worker is idle: its claimer and its scheduler wait.
inline bool worker_is_idle(const Store& store) {
    return eventually([&] { return detail::Access::backend(store)->wake_hub().waiters() >= 2; });
}
// True once that many threads wait for the end of runs.
inline bool waits_for_runs(const Store& store, int count = 1) {
    return eventually([&] {
        return detail::Access::backend(store)->run_wakeups().waiters() >= count;
    });
}

template <class Base>
class WithoutPolling : public Base {
protected:
    [[nodiscard]] ConnectOptions options() const override {
        ConnectOptions options = Base::options();
        options.poll_interval = std::chrono::hours(24);
        return options;
    }
};

}  // namespace pawl::test
