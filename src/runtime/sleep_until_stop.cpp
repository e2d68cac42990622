#include "runtime/sleep_until_stop.h"

#include <condition_variable>
#include <mutex>

namespace pawl::runtime {

void sleep_until_stop(std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_until(lock, stop, until, [] { return false; });
}

}  // namespace pawl::runtime
