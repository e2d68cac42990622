#include "support/tenants_test.h"

namespace pawl::test {

void TenantsTest::SetUp() {
    OutboxStoreTest::SetUp();
    a_ = store().tenant(name("a"));
    b_ = store().tenant(name("b"));
    for (const Store* tenant : {&*a_, &*b_}) {
        tenant->install();
        testing::set_clock(*tenant, start);
    }
}

void TenantsTest::TearDown() {
    a_.reset();
    b_.reset();
    OutboxStoreTest::TearDown();
}

std::string TenantsTest::name(const std::string& suffix) {
    return "tenant_" + suffix;
}

std::vector<std::string> TenantsTest::listed_tenants(const Store& by) {
    std::vector<std::string> names;
    for (const Tenant& tenant : by.tenants()) names.push_back(tenant.name);
    return names;
}

}  // namespace pawl::test
