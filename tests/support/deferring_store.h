// A store on an SQLite file whose sessions defer writes, like the engine over a remote driver.
#pragma once

#include <atomic>
#include <memory>

#include "rowstore/session.h"
#include "sqlite/sqlite_store.h"

namespace pawl::test {

class DeferringStore final : public sqlite::SqliteStore {
public:
    DeferringStore(
        const sqlite::SqliteTarget& target, ConnectOptions options, rowstore::RoundTrips round_trips
    )
        : SqliteStore(target, std::move(options)), round_trips_(round_trips) {}

    // Number of requests so far. A request carries what was kept and a statement with a result, or
    // a commit.
    [[nodiscard]] int requests() const { return requests_; }

private:
    void run_read(Work work) override;
    void run_write(Work work) override;
    void run_in(const Transaction& transaction, std::string_view call, Work work) override;

    const rowstore::RoundTrips round_trips_;
    std::atomic<int> requests_ = 0;
};

// With PAWL_TEST_DEFERRING=free round trips count as free: writes are deferred, but batches are
// processed as on SQLite.
[[nodiscard]] rowstore::RoundTrips deferring_round_trips();

[[nodiscard]] std::shared_ptr<DeferringStore> open_deferring(
    const sqlite::SqliteTarget& target,
    ConnectOptions options,
    rowstore::RoundTrips round_trips = deferring_round_trips()
);

}  // namespace pawl::test
