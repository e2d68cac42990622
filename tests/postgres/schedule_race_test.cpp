// A scheduler's check is several statements: each sees what others have committed in between.
#include <future>

#include "support/schedule_test.h"

namespace pawl::test {
namespace {

class ScheduleRaceTest : public ScheduleStoreTest {};
INSTANTIATE_TEST_SUITE_P(
    , ScheduleRaceTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(ScheduleRaceTest, a_schedule_deleted_during_the_check_is_not_due) {
    make("@hourly");
    set("2026-01-01 01:00");
    const auto sql = database();
    sql->run("set search_path = " + place().schema());
    // The check finds the schedule, has to wait when it reads the remaining columns and, because
    // that is a volatile function here, sees what was committed in the meantime.
    sql->run("alter function list_schedules volatile");
    sql->run("begin; lock table queues in access exclusive mode; delete from schedules");
    auto look = std::async(std::launch::async, [&] {
        return detail::Access::backend(store())->due_schedules(10);
    });
    EXPECT_TRUE(eventually([&] {
        return sql->number(
                   "select count(*) from pg_locks where relation = 'queues'::regclass and not "
                   "granted"
               ) == 1;
    }));
    sql->run("commit");
    const auto found = look.get();
    EXPECT_TRUE(found.due.empty());
    EXPECT_EQ(found.now, time_of("2026-01-01 01:00"));
    EXPECT_FALSE(found.waiting);
}

}  // namespace
}  // namespace pawl::test
