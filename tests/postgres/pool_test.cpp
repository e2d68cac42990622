// Connections of a store: opened for a burst, closed when they are no longer needed.
#include "postgres/driver/pool.h"

#include <vector>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class PoolTest : public StoreTest {
protected:
    // Only sessions of pools: those of the store itself are closed.
    [[nodiscard]] long sessions() const {
        return database()->number(
            "select count(*) from pg_stat_activity where datname = current_database() and "
            "application_name = 'pool_test'"
        );
    }
    [[nodiscard]] postgres::Pool pool(Duration keep) const { return {target(), 10s, 4, keep}; }
    static void use_three(postgres::Pool& pool) {
        std::vector<postgres::Pool::PooledConnection> lent;
        for (int i = 0; i < 3; ++i) lent.push_back(pool.lend());
    }

private:
    [[nodiscard]] postgres::PostgresTarget target() const {
        postgres::PostgresTarget target;
        const std::string url = place().url();
        target.url =
            with_parameter(url.substr(0, url.find("?schema=")), "application_name=pool_test");
        target.schema = place().schema();
        return target;
    }
};
INSTANTIATE_TEST_SUITE_P(, PoolTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(PoolTest, connections_of_a_burst_are_closed_when_nothing_needs_them) {
    postgres::Pool made = pool(0s);
    use_three(made);
    (void)made.lend();
    EXPECT_TRUE(eventually([&] { return sessions() == 1; })) << sessions();
}

TEST_P(PoolTest, connections_are_kept_for_the_next_burst) {
    postgres::Pool made = pool(1h);
    use_three(made);
    (void)made.lend();
    EXPECT_EQ(sessions(), 3);
}

}  // namespace
}  // namespace pawl::test
