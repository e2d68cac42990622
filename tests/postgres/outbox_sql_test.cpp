// The outbox in plain SQL.
#include "support/outbox_test.h"

namespace pawl::test {
namespace {

class OutboxSqlTest : public OutboxStoreTest {};
INSTANTIATE_TEST_SUITE_P(, OutboxSqlTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(OutboxSqlTest, plain_sql_publishes_too) {
    const std::string id = database()->value(
        "select " + place().schema() + ".publish('invoice.paid', '{\"n\": 1}', 'invoice-1')"
    );
    const OutboxEvent seen = event("invoice.paid");
    EXPECT_EQ(seen.event_id, id);
    EXPECT_EQ(seen.payload, Json{"{\"n\": 1}"});
    EXPECT_EQ(seen.subject, "invoice-1");
}

}  // namespace
}  // namespace pawl::test
