// A place for tests to stop the process: called before and after everything that a store sends to
// its database. Costs one load where no test has put anything there.
#pragma once

#include <atomic>

namespace pawl::base {

using StorageHook = void (*)();
inline std::atomic<StorageHook> storage_hook = nullptr;

inline void storage_call() {
    if (const StorageHook hook = storage_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace pawl::base
