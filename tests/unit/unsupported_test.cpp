// Parts of the seam that a store does not implement.
#include <gtest/gtest.h>

#include "seam/catalogue.h"
#include "support/expect.h"

namespace pawl::test {
namespace {

struct NoFlows : seam::Flows {};
struct NoSchedules : seam::Schedules {};
struct NoOutbox : seam::Outbox {};
struct NoRetention : seam::Retention {};

template <class Call>
void expect_unsupported(const std::string& part, Call call) {
    const Error error = error_of(call);
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << part;
    EXPECT_TRUE(contains(error.what(), part));
}

TEST(UnsupportedTest, a_missing_part_is_named) {
    expect_unsupported("flows", [] { NoFlows().create_flow("flow", {}); });
    expect_unsupported("flows", [] { (void)NoFlows().complete_task({}, {}, 0); });
    expect_unsupported("schedules", [] { (void)NoSchedules().save_schedule({}); });
    expect_unsupported("the outbox", [] { NoOutbox().publish({}); });
    expect_unsupported("retention", [] { NoRetention().clear_retention({}, ""); });
}

TEST(UnsupportedTest, lists_of_a_missing_part_are_empty) {
    EXPECT_TRUE(NoFlows().tasks(RunId(1)).empty());
    EXPECT_TRUE(NoSchedules().schedules({}).empty());
    EXPECT_TRUE(NoRetention().retention().empty());
}

}  // namespace
}  // namespace pawl::test
