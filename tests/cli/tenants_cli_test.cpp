// pawl tenants, and commands on one of them.
#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

class TenantsCliTest : public CliFixture {
protected:
    [[nodiscard]] Cli tenant(const std::string& name) const {
        return Cli(url() + "?schema=" + name);
    }
};

TEST_F(TenantsCliTest, installed_tenants_are_listed) {
    const Finished none = pawl({"tenants"});
    EXPECT_EQ(none.code, 0);
    EXPECT_EQ(none.out, "TENANT  SCHEMA VERSION\n");
    EXPECT_TRUE(contains(none.err, "pawl install"));
    EXPECT_EQ(pawl_json({"tenants"}).dump(), "[]");
    for (const char* name : {"tenant_b", "tenant_a"})
        EXPECT_EQ(tenant(name).run({"install"}).code, 0);
    const auto seen = pawl_json({"tenants"});
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0]["tenant"], "tenant_a");
    EXPECT_GT(seen[0]["schema_version"], 0);
    EXPECT_TRUE(contains(pawl({"tenants"}).out, "tenant_b"));
}

TEST_F(TenantsCliTest, a_bad_name_is_refused) {
    EXPECT_EQ(tenant("../a").failure({"install"}), "invalid_schema_name");
    EXPECT_EQ(tenant("Public").failure({"install"}), "invalid_schema_name");
}

}  // namespace
}  // namespace pawl::test
