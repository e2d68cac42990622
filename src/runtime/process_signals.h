// Lets any number of workers of a process wait for SIGINT and SIGTERM.
#pragma once

#include <cstdint>
#include <pawl/types.h>

namespace pawl::runtime {

// Catches the signals while an instance exists; the last one restores the previous handlers.
// Workers wait for the first signal. The second one ends the process: it is raised again with its
// default action.
class CaughtSignals {
public:
    CaughtSignals();
    ~CaughtSignals();
    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;

    // True if a signal has arrived since construction.
    [[nodiscard]] bool arrived() const;
    // Returns when a signal arrives, or after `time`.
    void wait(Duration time) const;

private:
    std::uint32_t before_;
};

}  // namespace pawl::runtime
