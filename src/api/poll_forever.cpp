#include <exception>
#include <mutex>
#include <pawl/worker.h>
#include <thread>
#include <vector>

namespace pawl::inline v0 {

void poll_forever(std::span<Worker> workers) {
    std::mutex mutex;
    std::exception_ptr first;
    // Before the first worker polls, so that an early signal reaches all of them.
    for (Worker& worker : workers) worker.handle_signals();
    {
        std::vector<std::jthread> threads;
        for (Worker& worker : workers)
            threads.emplace_back([&] {
                try {
                    worker.poll_forever();
                } catch (...) {
                    {
                        const std::lock_guard lock(mutex);
                        if (!first) first = std::current_exception();
                    }
                    for (Worker& other : workers) other.stop();
                }
            });
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace pawl::inline v0
