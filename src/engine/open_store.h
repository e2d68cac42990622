// State shared by the handles of an open store. It lives as long as the last handle.
#pragma once

#include <memory>

#include "engine/end_callbacks.h"
#include "engine/reconnect.h"
#include "engine/worker_watch.h"
#include "seam/backend.h"

namespace pawl::engine {

class OpenStore {
public:
    explicit OpenStore(std::shared_ptr<seam::Backend> backend)
        : backend_(std::move(backend)), worker_watch_(*backend_), end_callbacks_(backend_) {}

    [[nodiscard]] const std::shared_ptr<seam::Backend>& backend() const { return backend_; }
    [[nodiscard]] WorkerWatch& worker_watch() { return worker_watch_; }
    [[nodiscard]] EndCallbacks& end_callbacks() { return end_callbacks_; }
    // Runs the call, and retries it while the database does not answer: see engine/reconnect.h.
    template <class Call>
    auto retrying(Call call) {
        return engine::retrying(*backend_, [&] { return call(*backend_); });
    }

private:
    const std::shared_ptr<seam::Backend> backend_;
    WorkerWatch worker_watch_;
    EndCallbacks end_callbacks_;
};

}  // namespace pawl::engine
