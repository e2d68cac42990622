// Gives the library access to the public handles: creates them, and reaches the store behind them.
// Tests of the seam use it too.
#pragma once

#include <pawl/context.h>
#include <pawl/flow.h>
#include <pawl/outbox.h>
#include <pawl/store.h>
#include <pawl/worker.h>

#include "engine/open_store.h"

namespace pawl::inline v0::detail {

struct Access {
    [[nodiscard]] static Store store(std::shared_ptr<seam::Backend> backend) {
        return Store(std::make_shared<engine::OpenStore>(std::move(backend)));
    }
    [[nodiscard]] static engine::OpenStore& open(const Store& store) { return *store.store_; }
    template <class Handle>  // Store, Queue or Run
    [[nodiscard]] static const std::shared_ptr<seam::Backend>& backend(const Handle& handle) {
        return handle.store_->backend();
    }
    [[nodiscard]] static Run run(const Store& store, RunId id, bool created) {
        return {store.store_, id, created};
    }
    [[nodiscard]] static Queue queue(const Store& store, std::string name) {
        return {store.store_, std::move(name)};
    }
    [[nodiscard]] static Worker worker(std::shared_ptr<runtime::WorkerRuntime> runtime) {
        return Worker(std::move(runtime));
    }
    [[nodiscard]] static Dispatcher dispatcher(
        std::shared_ptr<runtime::OutboxDispatcher> implementation
    ) {
        return Dispatcher(std::move(implementation));
    }
    // Contexts cannot be copied, so they are created here for the duration of a call.
    template <class Call>
    static decltype(auto) with_context(runtime::RunContext& run, Call call) {
        Context context(run);
        return call(context);
    }
    template <class Call>
    static decltype(auto) with_context(runtime::TaskExecution& task, Call call) {
        TaskContext context(task);
        return call(context);
    }
    template <class Call>
    static decltype(auto) with_context(runtime::MessageCall& messages, Call call) {
        HandlerContext context(messages);
        return call(context);
    }
};

}  // namespace pawl::inline v0::detail
