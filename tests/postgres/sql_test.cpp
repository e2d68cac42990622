// Any language can be a producer and a worker with plain SQL.
#include "support/store_test.h"

namespace pawl::test {
namespace {

class SqlTest : public StoreTest {
protected:
    [[nodiscard]] std::string f(const std::string& call) const {
        return place().schema() + "." + call;
    }
};
INSTANTIATE_TEST_SUITE_P(, SqlTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SqlTest, a_message_goes_through_its_life_in_sql) {
    const auto sql = database();
    sql->run("select " + f("create_queue('mail', max_attempts => 2)"));
    const std::string id =
        sql->value("select " + f("enqueue('mail', '{\"to\":\"ada\"}', priority => 5)"));
    auto rows =
        sql->rows("select message_id, delivery, payload from " + f("dequeue('mail', qty => 5)"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (Row{id, "1", "{\"to\":\"ada\"}"}));
    EXPECT_EQ(
        sql->value("select " + f("archive(array[" + id + "]::bigint[], array[1])")), "{done}"
    );
    EXPECT_EQ(
        sql->value("select " + f("archive(array[" + id + "]::bigint[], array[1])")), "{lease_lost}"
    );
    EXPECT_EQ(sql->value("select archived from " + f("metrics('mail')")), "1");
}

TEST_P(SqlTest, an_enqueue_in_sql_wakes_a_waiting_dequeue) {
    const Queue queue = make_queue();
    std::jthread producer([&] { database()->run("select " + f("enqueue('work', '1')")); });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = 40s}).size(), 1U);
}

TEST_P(SqlTest, errors_have_states_of_their_own) {
    const auto sql = database();
    const auto why = [&](const std::string& call) {
        try {
            sql->run("select " + f(call));
        } catch (const std::exception& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_TRUE(contains(why("enqueue('nowhere', '1')"), "'nowhere' does not exist"));
    EXPECT_TRUE(contains(why("create_queue('a b')"), "invalid queue name"));
    EXPECT_TRUE(contains(why("transition_worker(99, 'stop')"), "worker 99 does not exist"));
}

}  // namespace
}  // namespace pawl::test
