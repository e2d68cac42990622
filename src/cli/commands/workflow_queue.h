// Commands of queues that were given the queue of a workflow or a flow.
#pragma once

#include <pawl/error.h>
#include <pawl/store.h>
#include <string>

namespace pawl::cli {

enum class QueueUse { enqueue, dequeue, settle, create, remove, purge };

/// Throws the error again, with the command of workflows or flows that does what the user wanted.
[[noreturn]] void refuse_workflow_queue(
    const Store& store, QueueUse use, const std::string& queue, const Error& error
);

/// Calls `use_it`, and refuses the queue of a workflow with a hint.
template <class Function>
auto for_plain_queue(
    const Store& store, QueueUse use, const std::string& queue, const Function& use_it
) {
    try {
        return use_it();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::workflow_queue) throw;
        refuse_workflow_queue(store, use, queue, error);
    }
}

}  // namespace pawl::cli
