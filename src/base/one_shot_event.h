// An event that one thread waits for and another sets, once. Cheaper than a mutex and a condition
// variable if hundreds of threads wait, each for its own event.
#pragma once

#include <atomic>
#include <cstdint>

namespace pawl::base {

class OneShotEvent {
public:
    void wait();
    // The waiter may destroy the event as soon as it sees it open.
    void open();

private:
    std::atomic<std::uint32_t> open_ = 0;
};

}  // namespace pawl::base
