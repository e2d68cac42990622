// A hook for tests that crash the process: stores call crash_point() before and after everything
// that they send to the database. Costs one load if no test has set the hook.
#pragma once

#include <atomic>

namespace pawl::base {

using CrashHook = void (*)();
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): only tests set it
inline std::atomic<CrashHook> crash_hook = nullptr;

inline void crash_point() {
    if (const CrashHook hook = crash_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace pawl::base
