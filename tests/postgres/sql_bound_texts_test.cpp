// A caller of the SQL functions that exceeds a bound gets the same message as a caller of the C++
// API (tests/store/core/bounds_test.cpp).
#include "support/store_test.h"

namespace pawl::test {
namespace {

class SqlBoundTextsTest : public StoreTest {
protected:
    void expect_refused(const std::string& call, const std::string& text) const {
        SCOPED_TRACE(call);
        try {
            database()->run("select * from " + place().schema() + "." + call);
            ADD_FAILURE() << "accepted";
        } catch (const std::runtime_error& refused) {
            EXPECT_TRUE(contains(refused.what(), text));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(
    , SqlBoundTextsTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(SqlBoundTextsTest, bounds_of_names) {
    const std::string text = "use 1 to 128 letters, digits, '_', '-', '.', ':', not starting";
    expect_refused("create_queue(repeat('x', 129))", text);
    expect_refused("create_workflow(repeat('w', 129))", text);
    expect_refused(
        "create_flow(repeat('f', 129))",
        "use 1 to 128 letters, digits and '_', not starting with a digit"
    );
}

TEST_P(SqlBoundTextsTest, bounds_of_queues_and_messages) {
    make_queue("work");
    expect_refused("create_queue('q', max_strikes => 1001)", "max_strikes must be 1 to 1000");
    const std::string priority = "priority must be -1000000 to 1000000";
    expect_refused("enqueue('work', '1', priority => 1000001)", priority);
    expect_refused("enqueue('work', '1', priority => -1000001)", priority);
    expect_refused(
        "enqueue('work', '1', at => '9999-01-01 00:00:00.000001+00')",
        "must lie between the years 1970 and 9999"
    );
}

TEST_P(SqlBoundTextsTest, bounds_of_runs) {
    store().create_workflow("job", {});
    expect_refused(
        "trigger('job', '1', idempotency_key => repeat('x', 513))",
        "an idempotency key must be 1 to 512 bytes of UTF-8"
    );
    expect_refused(
        "trigger('job', '1', tags => array[repeat('x', 256)])",
        "a tag must be 1 to 255 bytes of UTF-8"
    );
    expect_refused(
        "trigger('job', '1', tags => array(select i::text from generate_series(1, 65) i))",
        "a run has at most 64 tags"
    );
    expect_refused(
        "trigger('job', '1', max_attempts => 1000001)", "max_attempts must be 1 to 1000000"
    );
}

TEST_P(SqlBoundTextsTest, bounds_of_flows) {
    expect_refused(
        "create_flow('more', max_attempts => 1000001)",
        "max_attempts must be 0 (no retry) to 1000000"
    );
    expect_refused(
        "create_flow('longer', timeout => 3162240000.001)", "timeout is longer than 100 years"
    );
}

TEST_P(SqlBoundTextsTest, bounds_of_retention) {
    make_queue("work");
    expect_refused(
        "set_retention('archive', 'work', 3155760000001)",
        "retention of archive: age must be 0 to 100 years"
    );
    expect_refused(
        "set_retention('archive', 'work', null, 1000001)",
        "retention of archive: count must be 0 to 1000000"
    );
}

}  // namespace
}  // namespace pawl::test
