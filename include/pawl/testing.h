// Opt-in, for tests: a clock of the store that does not advance by itself. Store::verify() reports
// it, and workers refuse to start with it unless ConnectOptions::accept_test_clock is set. Never
// use it in production.
#pragma once

#include <pawl/store.h>

/// Control of a store's clock.
namespace pawl::inline v0::testing {

/// Replaces the store's clock for every process that uses the store, and wakes up waiters.
PAWL_EXPORT void set_clock(const Store& store, Timestamp now);
/// The same, with the time of the replaced clock, or else the real time, plus `by`.
PAWL_EXPORT void advance_clock(const Store& store, Duration by);
/// Returns to the real clock.
PAWL_EXPORT void restore_clock(const Store& store);

}  // namespace pawl::inline v0::testing
