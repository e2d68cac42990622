// A PostgreSQL server that does not answer does not block a scrape.
#include <pawl/json.h>

#include "metrics/metrics_test.h"
#include "support/gate.h"

namespace pawl::test {
namespace {

#ifdef PAWL_WITH_POSTGRES

class HangingStoreTest : public MetricsTest {};
INSTANTIATE_TEST_SUITE_P(
    , HangingStoreTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(HangingStoreTest, a_scrape_does_not_wait_for_an_answer_that_does_not_come) {
    make_workflow();
    Gate gate(port_of(place().url()));
    const Store behind = connect(with_port(place().url(), gate.port()), options());
    auto made = worker("w").handle("job", [](Context&) {}).metrics(fresh()).create(behind);
    gate.stall_at("backlog");
    // The client gives up after 5 s.
    EXPECT_EQ(scraped(made).value("pawl_store_up"), 0);
    EXPECT_EQ(scraped(made).value("pawl_runs_total", of_job("success")), 0) << "again and again";
    gate.stall_at("nothing any more");
    gate.drop_connections();
    EXPECT_TRUE(eventually([&] { return scraped(made).value("pawl_store_up") == 1; }));
}

#endif

}  // namespace
}  // namespace pawl::test
