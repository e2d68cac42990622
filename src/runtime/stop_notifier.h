// Requests stops on separate threads: the callbacks that users attach to stop tokens may take long,
// and must delay neither leases and deadlines nor other stops.
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
    ~StopNotifier();  // waits until all stops were requested
    StopNotifier(const StopNotifier&) = delete;
    StopNotifier& operator=(const StopNotifier&) = delete;
    void stop(std::stop_source source);  // returns immediately

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::stop_source> waiting_;
    std::size_t idle_ = 0;
    bool ending_ = false;
    std::vector<std::thread> threads_;  // one per concurrent request
};

}  // namespace pawl::runtime
