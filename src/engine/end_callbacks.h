// Calls back when runs end (Run::on_end). One thread, started by the first callback, waits for all
// of them: it checks a run when a wake-up names it, and a bounded number of runs in turn if no
// wake-up arrives.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pawl/run.h>
#include <set>
#include <thread>

#include "seam/backend.h"

namespace pawl::engine {

class EndCallbacks {
public:
    using Callback = std::function<void(const RunInfo&)>;

    explicit EndCallbacks(std::shared_ptr<seam::Backend> backend);
    // No callback begins after this. Waits for a callback that runs on another thread.
    ~EndCallbacks();
    EndCallbacks(const EndCallbacks&) = delete;
    EndCallbacks& operator=(const EndCallbacks&) = delete;

    // Calls `callback` once, on the watcher's thread, when the run has ended, or immediately if it
    // has. Throws run_not_found.
    void add(RunId run, Callback callback);

private:
    class Watcher;
    const std::shared_ptr<seam::Backend> backend_;
    std::mutex mutex_;
    // Shared with the thread: the last store handle may be dropped inside a callback.
    std::shared_ptr<Watcher> watcher_;
    std::thread thread_;
};

}  // namespace pawl::engine
