// The fixture of the contract suite: a fresh store for each test, on each backend.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <pawl/pawl.h>
#include <pawl/testing.h>
#include <string>
#include <vector>

#include "engine/access.h"
#include "support/expect.h"
#include "support/place.h"
#include "support/store_kit.h"

namespace pawl::test {

// Keeps the library's log, so that a failed test can show it.
class LogLines {
public:
    [[nodiscard]] LogHook hook() const;
    [[nodiscard]] std::string text() const;

private:
    struct State {
        std::mutex mutex;
        std::string text;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

class StoreTest : public ::testing::TestWithParam<BackendKind> {
protected:
    void SetUp() override;
    void TearDown() override;

    [[nodiscard]] virtual ConnectOptions options() const;
    // A separate store on the same place, as in another process.
    [[nodiscard]] Store open() const;
    [[nodiscard]] const Store& store() const { return *store_; }
    [[nodiscard]] const Place& place() const { return *place_; }
    [[nodiscard]] const StoreKit& kit() const { return *kit_; }
    [[nodiscard]] static const StoreTraits& traits() { return traits_of(GetParam()); }
    [[nodiscard]] long count(Rows rows) const { return kit().count(rows); }
    [[nodiscard]] long count(Rows rows, RunId run) const { return kit().count(rows, run); }
    // For tests outside of the contract suite; tests/store uses the kit instead.
    [[nodiscard]] bool on_postgres() const { return GetParam() == BackendKind::postgres; }
    [[nodiscard]] std::unique_ptr<Database> database() const { return place().database(); }
    [[nodiscard]] std::string log_text() const { return log_.text(); }
    void close_store() { store_.reset(); }

    // Stops the clock at `start`, a whole second.
    void freeze() const;
    void advance(Duration by) const { testing::advance_clock(store(), by); }
    static constexpr Timestamp start{std::chrono::sys_days(std::chrono::year(2030) / 1 / 2)};

    Queue make_queue(const std::string& name = "work", const QueueOptions& options = {}) const;
    // Payloads 0, 1, 2, ...
    static std::vector<MessageId> enqueue_many(const Queue& queue, int count);
    static std::vector<Message> take(const Queue& queue, int count = 1);
    static Message take_one(const Queue& queue);
    static std::vector<Lease> leases(const std::vector<Message>& messages);
    static std::vector<MessageId> ids(const std::vector<Message>& messages);

private:
    LogLines log_;
    std::unique_ptr<Place> place_;
    std::unique_ptr<StoreKit> kit_;
    std::optional<Store> store_;
};

std::string backend_name(const ::testing::TestParamInfo<BackendKind>& info);

}  // namespace pawl::test

#define PAWL_FOR_EACH_BACKEND(Suite)                                                         \
    INSTANTIATE_TEST_SUITE_P(                                                                \
        , Suite, ::testing::ValuesIn(pawl::test::built_backends()), pawl::test::backend_name \
    )
// The same for the stores that have a trait: PAWL_FOR_EACH_BACKEND_WITH(user_transactions, Suite).
#define PAWL_FOR_EACH_BACKEND_WITH(trait, Suite)                                         \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);                                \
    INSTANTIATE_TEST_SUITE_P(                                                            \
        ,                                                                                \
        Suite,                                                                           \
        ::testing::ValuesIn(pawl::test::backends_with(&pawl::test::StoreTraits::trait)), \
        pawl::test::backend_name                                                         \
    )
