// Requests stops on threads of its own: what users have attached to their stop tokens may take as
// long as it likes, and nobody who keeps leases or watches times waits for it, nor do others that
// are to be stopped.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace pawl::runtime {

class StopNotifier {
public:
    StopNotifier() = default;
    ~StopNotifier();  // when all have been told
    StopNotifier(const StopNotifier&) = delete;
    StopNotifier& operator=(const StopNotifier&) = delete;
    void stop(std::stop_source source);  // returns at once

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::stop_source> waiting_;
    std::size_t idle_ = 0;
    bool ending_ = false;
    std::vector<std::thread> threads_;  // as many as had to tell at the same time
};

}  // namespace pawl::runtime
