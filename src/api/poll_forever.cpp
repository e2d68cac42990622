#include <exception>
#include <mutex>
#include <pawl/worker.h>
#include <thread>
#include <vector>

namespace pawl {

void poll_forever(std::span<Worker> workers) {
    std::mutex mutex;
    std::exception_ptr first;
    // All before the first one polls: a signal that comes early is every worker's.
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

}  // namespace pawl
