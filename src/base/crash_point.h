// A place for tests to stop the process: called before and after everything that a store sends to
// its database. Costs one load where no test has put anything there.
#pragma once

#include <atomic>

namespace pawl::base {

using CrashHook = void (*)();
inline std::atomic<CrashHook> crash_hook = nullptr;

inline void crash_point() {
    if (const CrashHook hook = crash_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace pawl::base
