#include "support/deferring_store.h"

#include <cstdlib>
#include <string_view>

#include "sqlite/transaction.h"
#include "sqlite/user_session.h"
#include "support/deferring_session.h"

namespace pawl::test {

void DeferringStore::run_read(Work work) {
    SqliteStore::run_read([&](rowstore::Session& session) {
        const auto& own = static_cast<sqlite::Session&>(session);
        DeferringSession deferring(own.native(), own.context(), round_trips_, requests_);
        work(deferring);
    });
}

void DeferringStore::run_write(Work work) {
    SqliteStore::run_write([&](rowstore::Session& session) {
        const auto& own = static_cast<sqlite::Session&>(session);
        DeferringSession deferring(own.native(), own.context(), round_trips_, requests_);
        work(deferring);
        ++requests_;  // the commit
        deferring.flush();
    });
}

void DeferringStore::run_in(const Transaction& transaction, std::string_view call, Work work) {
    SqliteStore::run_in(transaction, call, [&](rowstore::Session& session) {
        const auto& own = static_cast<sqlite::Session&>(session);
        DeferringSession deferring(own.native(), own.context(), round_trips_, requests_);
        work(deferring);
        deferring.flush();
    });
}

rowstore::RoundTrips deferring_round_trips() {
    const char* const value = std::getenv("PAWL_TEST_DEFERRING");
    const bool free = value != nullptr && std::string_view(value) == "free";
    return free ? rowstore::RoundTrips::free : rowstore::RoundTrips::costly;
}

std::shared_ptr<DeferringStore> open_deferring(
    const sqlite::SqliteTarget& target, ConnectOptions options, rowstore::RoundTrips round_trips
) {
    return std::make_shared<DeferringStore>(target, std::move(options), round_trips);
}

}  // namespace pawl::test
