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

// Claims begin where the last one found events; this event is before that position.
TEST_P(OutboxSqlTest, an_event_that_commits_late_is_claimed_immediately) {
    const auto mine = database();
    mine->begin();
    (void)store().publish_in(mine->transaction(), {"late"});
    advance(1s);
    publish("", 3);
    EXPECT_EQ(claimed(), "-1 -2 -3");
    EXPECT_EQ(claimed(), "");
    mine->run("commit");
    EXPECT_EQ(claimed(), "late");
}

TEST_P(OutboxSqlTest, an_event_that_commits_late_is_found_in_front_of_a_backlog) {
    const auto mine = database();
    mine->begin();
    (void)store().publish_in(mine->transaction(), {"late"});
    advance(1s);
    publish_together("", 20'000);
    EXPECT_EQ(claimed(1), "-1");
    mine->run("commit");
    EXPECT_TRUE(eventually([&] { return claimed(1) == "late"; }));
    EXPECT_LT(event("late").id, event("-1").id);
}

}  // namespace
}  // namespace pawl::test
