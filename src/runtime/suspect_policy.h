// Decides when a suspect is executed: a call with two strikes, which may crash its process. It is
// executed alone, as far as that is possible in bounded time:
//
//   claimed --(no window yet: hold for `hold`, then hand back without a strike)
//      |
//   window begins: no other call is started
//      |  until no call younger than `patience` runs, for at most `patience`
//   the suspect is started, in its own slot
//      |  until it ends, for at most `alone_for`
//   window ends: other calls start again; no window for `work_per_window` times its length
//
// Calls that have run for longer than `patience` are not waited for: they may never end. So a
// handler that does not return delays neither suspects nor other work.
#pragma once

#include <algorithm>
#include <chrono>
#include <pawl/types.h>

#include "model/rules.h"

namespace pawl::runtime {

// Takes the time as a parameter.
class SuspectPolicy {
public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr Duration hold = 1s;
    static constexpr Duration patience = 250ms;
    static constexpr Duration alone_for = 250ms;
    static constexpr int work_per_window = 9;  // windows take at most a tenth of the time

    // The strikes of a message include its current delivery.
    [[nodiscard]] static bool is_suspect(int strikes) {
        return strikes > model::rules::suspect_strikes;
    }
    // The lease is not extended before the start, so only a part of it may pass while the call
    // waits.
    [[nodiscard]] static Duration hold_time(Duration lease) { return std::min(hold, lease / 4); }

    [[nodiscard]] bool may_begin(Time now) const { return now >= next_window_; }
    [[nodiscard]] Time next_window() const { return next_window_; }
    void begin(Time now) { began_ = now; }
    // When to start the suspect. `last_start` is the start of the youngest running call.
    [[nodiscard]] Time start_at(Time last_start, Duration lease) const {
        return std::min(last_start + patience, began_ + std::min(patience, lease / 4));
    }
    [[nodiscard]] static Time end_at(Time started) { return started + alone_for; }
    void end(Time now) { next_window_ = now + work_per_window * (now - began_); }

private:
    Time began_{};
    Time next_window_{};
};

}  // namespace pawl::runtime
