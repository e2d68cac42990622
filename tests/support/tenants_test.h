// The fixture for tenants: two stores of one database, or beside one file, with the same names and
// the same numbers in them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/outbox_test.h"

namespace pawl::test {

class TenantsTest : public OutboxStoreTest {
protected:
    void SetUp() override;
    void TearDown() override;

    // A name that no other test of the server uses.
    [[nodiscard]] std::string name(const std::string& suffix) const;
    [[nodiscard]] const Store& a() const { return *a_; }
    [[nodiscard]] const Store& b() const { return *b_; }
    // Every row of every table of a tenant.
    using Contents = std::map<std::string, std::vector<Row>>;
    [[nodiscard]] Contents contents(const std::string& tenant) const;
    // All names of store().tenants() that are this test's.
    [[nodiscard]] std::vector<std::string> listed_tenants(const Store& by) const;
    [[nodiscard]] std::string file_of(const std::string& tenant) const;

private:
    std::optional<Store> a_;
    std::optional<Store> b_;
};

}  // namespace pawl::test
