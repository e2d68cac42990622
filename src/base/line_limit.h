// Limits how many log lines a source writes per second. The caller passes the time.
#pragma once

#include <chrono>
#include <utility>

namespace pawl::base {

class LineLimit {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit LineLimit(int lines_per_second) : limit_(lines_per_second) {}

    [[nodiscard]] bool allows(Time now) {
        if (now - began_ >= std::chrono::seconds(1)) {
            began_ = now;
            count_ = 0;
        }
        if (count_ < limit_) return ++count_, true;
        ++suppressed_;
        return false;
    }
    // The number of lines suppressed since the last call.
    [[nodiscard]] int take_suppressed() { return std::exchange(suppressed_, 0); }

private:
    int limit_;
    Time began_{};
    int count_ = 0;
    int suppressed_ = 0;
};

}  // namespace pawl::base
