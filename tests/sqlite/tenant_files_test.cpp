// On SQLite: the file of each tenant, and other files next to them.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <pawl/pawl.h>

#include "support/expect.h"
#include "support/place.h"

namespace pawl::test {
namespace {

class TenantFilesTest : public ::testing::Test {
protected:
    Store tenant_at(const std::string& url_path, const std::string& parameters) const {
        Store store = connect("sqlite:" + directory_.file(url_path) + parameters, {.log = nullptr});
        store.install();
        return store;
    }
    [[nodiscard]] bool has_file(const std::string& name) const {
        return std::filesystem::exists(directory_.file(name));
    }
    static std::vector<std::string> names(const Store& store) {
        std::vector<std::string> all;
        for (const Tenant& tenant : store.tenants()) all.push_back(tenant.name);
        return all;
    }
    TempDirectory directory_;
};

TEST_F(TenantFilesTest, the_tenant_is_before_the_extension_of_the_file) {
    tenant_at("app.db", "?schema=tenant_a");
    EXPECT_TRUE(has_file("app.tenant_a.db"));
    EXPECT_FALSE(has_file("app.db")) << "it was not requested";
    tenant_at("my.app.sqlite3", "?schema=x");
    EXPECT_TRUE(has_file("my.app.x.sqlite3"));
    tenant_at("plain", "?schema=x");
    EXPECT_TRUE(has_file("plain.x"));
    tenant_at("app.db", "?schema=pawl");
    EXPECT_TRUE(has_file("app.db")) << "pawl is the file itself";
}

TEST_F(TenantFilesTest, only_stores_of_that_file_are_its_tenants) {
    const Store base = tenant_at("app.db", "");
    tenant_at("app.db", "?schema=tenant_a");
    tenant_at("other.db", "?schema=tenant_b");
    tenant_at("app.tenant_a.db", "?schema=below");
    std::ofstream(directory_.file("app.notes.db")) << "not a database, but as long as a page";
    std::ofstream(directory_.file("app.empty.db"));
    std::filesystem::create_directory(directory_.file("app.folder.db"));
    (void)connect("sqlite:" + directory_.file("app.uninstalled.db"), {.log = nullptr});
    EXPECT_EQ(names(base), (std::vector<std::string>{"pawl", "tenant_a"}));
    std::ifstream notes(directory_.file("app.notes.db"));
    std::string first;
    notes >> first;
    EXPECT_EQ(first, "not") << "looking changes nothing";
}

TEST_F(TenantFilesTest, a_tenants_tenants_are_those_of_the_file_that_was_named) {
    const Store a = tenant_at("app.db", "?schema=a");
    const Store b = a.tenant("b");
    b.install();
    EXPECT_TRUE(has_file("app.b.db")) << "not app.a.b.db";
    EXPECT_EQ(names(b), (std::vector<std::string>{"a", "b"}));
    a.tenant("pawl").install();
    EXPECT_TRUE(has_file("app.db"));
}

TEST_F(TenantFilesTest, the_current_folder_of_later_does_not_matter) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    const Store base = connect("sqlite:app.db", {.log = nullptr});
    base.install();
    std::filesystem::current_path(before);
    base.tenant("a").install();
    EXPECT_TRUE(has_file("app.a.db"));
    EXPECT_EQ(names(base), (std::vector<std::string>{"a", "pawl"}));
}

TEST_F(TenantFilesTest, memory_is_one_store) {
    const Store store = connect("sqlite::memory:", {.log = nullptr});
    EXPECT_TRUE(store.tenants().empty());
    store.install();
    EXPECT_EQ(names(store), std::vector<std::string>{"pawl"});
    const Error error = error_of([&] { (void)store.tenant("a"); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_url);
    EXPECT_TRUE(contains(error.what(), "sqlite:app.db?schema=a"));
}

}  // namespace
}  // namespace pawl::test
