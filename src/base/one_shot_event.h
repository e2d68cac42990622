// A door that one thread waits at until another opens it, once. Cheaper than a mutex with a
// condition where hundreds of threads wait, each for its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace pawl::base {

class OneShotEvent {
public:
    void wait();
    // The gate may be gone as soon as the waiting thread sees it open.
    void open();

private:
    std::atomic<std::uint32_t> open_ = 0;
};

}  // namespace pawl::base
