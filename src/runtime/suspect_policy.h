// When a suspect is executed: a call with two strikes, which may kill its process. It is executed
// alone as far as that is possible within a bounded time:
//
//   claimed --(no window yet: hold, then hand back without a strike)
//      |
//   window begins: nothing new is started
//      |  until no call runs that is younger than `patience`, at most for `patience`
//   the suspect is started, in a slot of its own
//      |  until it ends, at most for `alone_for`
//   window ends: other work is started again; no window for `work_per_window` times its length
//
// Calls that have run for longer than `patience` do not count as busy: they may never end. So a
// body that does not return delays a suspect by nothing, and other work by nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <pawl/types.h>

#include "model/rules.h"

namespace pawl::runtime {

// Knows no clock: every call is given the time.
class SuspectPolicy {
public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr Duration patience = 1s;
    static constexpr Duration alone_for = 1s;
    static constexpr int work_per_window = 4;  // windows take a fifth of the time at most

    // The strikes of a message count its current hand-out too.
    [[nodiscard]] static bool is_suspect(int strikes) {
        return strikes > model::rules::suspect_strikes;
    }
    // A lease is not extended before the start: only a part of it may go by while it waits.
    [[nodiscard]] static Duration hold_time(Duration lease) {
        return std::min(patience, lease / 4);
    }

    [[nodiscard]] bool may_begin(Time now) const { return now >= next_window_; }
    [[nodiscard]] Time next_window() const { return next_window_; }
    void begin(Time now) { began_ = now; }
    // When to start the suspect: `last_start` is that of the youngest call that runs.
    [[nodiscard]] Time start_at(Time last_start, Duration lease) const {
        return std::min(last_start + patience, began_ + hold_time(lease));
    }
    [[nodiscard]] static Time end_at(Time started) { return started + alone_for; }
    void end(Time now) { next_window_ = now + work_per_window * (now - began_); }

private:
    Time began_{};
    Time next_window_{};
};

}  // namespace pawl::runtime
