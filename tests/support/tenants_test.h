// The fixture for tenants: two stores of one database, or of files in one folder, with the same
// names and ids.
#pragma once

#include <string>
#include <vector>

#include "support/outbox_test.h"

namespace pawl::test {

class TenantsTest : public OutboxStoreTest {
protected:
    void SetUp() override;
    void TearDown() override;

    [[nodiscard]] static std::string name(const std::string& suffix);
    [[nodiscard]] const Store& a() const { return *a_; }
    [[nodiscard]] const Store& b() const { return *b_; }
    using Contents = StoreKit::Contents;
    [[nodiscard]] Contents contents(const std::string& tenant) const {
        return kit().contents(tenant);
    }
    [[nodiscard]] static std::vector<std::string> listed_tenants(const Store& by);

private:
    std::optional<Store> a_;
    std::optional<Store> b_;
};

}  // namespace pawl::test
