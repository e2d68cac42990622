// The test kit: a clock that stands still until it is moved. verify() reports it, and workers
// refuse it unless ConnectOptions::accept_test_clock says so. Never for production.
#pragma once

#include <pawl/store.h>

namespace pawl::testing {

/// Replaces the store's clock for every process that uses it, and wakes those that wait.
void set_clock(const Store& store, Timestamp now);
void advance_clock(
    const Store& store, Duration by
);  ///< from where it stands, or from the real time
void restore_clock(const Store& store);

}  // namespace pawl::testing
