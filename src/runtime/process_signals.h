// SIGINT and SIGTERM as something that can be waited for, by any number of workers of a process.
#pragma once

#include <cstdint>
#include <pawl/types.h>

namespace pawl::runtime {

// While one of these lives, the signals are caught; after the last one the handlers from before are
// in place again. The first signal is what workers wait for. The second one ends the process: it is
// raised again with its default action.
class CaughtSignals {
public:
    CaughtSignals();
    ~CaughtSignals();
    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;

    // True if a signal has arrived since the construction.
    [[nodiscard]] bool arrived() const;
    // Returns when a signal arrives, or after the time.
    void wait(Duration time) const;

private:
    std::uint32_t before_;
};

}  // namespace pawl::runtime
