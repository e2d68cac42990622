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
    if (on_postgres()) {
        for (const char* suffix : {"a", "b", "c"})
            database()->run("drop schema if exists " + name(suffix) + " cascade");
    }
    OutboxStoreTest::TearDown();
}

std::string TenantsTest::name(const std::string& suffix) const {
    return on_postgres() ? place().schema() + "_" + suffix : "tenant_" + suffix;
}

std::string TenantsTest::file_of(const std::string& tenant) const {
    return place().directory().file("store." + tenant + ".db");
}

TenantsTest::Contents TenantsTest::contents(const std::string& tenant) const {
    const auto data = on_postgres() ? database() : open_sqlite_database(file_of(tenant));
    const std::string tables =
        on_postgres() ? "select tablename from pg_tables where schemaname = '" + tenant + "'"
                      : "select name from sqlite_master where type = 'table'";
    Contents all;
    for (const Row& table : data->rows(tables)) {
        const std::string from = on_postgres() ? tenant + "." + table.at(0) : table.at(0);
        auto rows = data->rows("select * from " + from);
        std::ranges::sort(rows);
        all.emplace(table.at(0), std::move(rows));
    }
    return all;
}

std::vector<std::string> TenantsTest::listed_tenants(const Store& by) const {
    std::vector<std::string> names;
    for (const Tenant& tenant : by.tenants()) {
        if (!on_postgres() || tenant.name.starts_with(place().schema()))
            names.push_back(tenant.name);
    }
    return names;
}

}  // namespace pawl::test
