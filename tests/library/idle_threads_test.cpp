// The number of threads of an idle worker. The numbers are written here, so that an additional
// thread is noticed.
#include <filesystem>
#include <set>
#include <string>

#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

std::set<std::string> threads() {
    std::set<std::string> ids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        ids.insert(entry.path().filename());
    return ids;
}

class IdleThreadsTest : public WorkflowTest {
protected:
    // Ended threads may be in the list for a moment: only new ones count.
    [[nodiscard]] std::size_t new_threads() const {
        std::size_t count = 0;
        for (const std::string& id : threads()) count += before_.contains(id) ? 0 : 1;
        return count;
    }
    // Claimer, heartbeat, the timer of services that use only memory, and the lanes of the
    // committer: one, or two on PostgreSQL.
    [[nodiscard]] std::size_t without_housekeeping() const { return on_postgres() ? 5 : 4; }
    // The scheduler and the pruner share a timer.
    [[nodiscard]] std::size_t with_housekeeping() const { return without_housekeeping() + 1; }
    // Listens for wake-ups: on PostgreSQL for notifications, on SQLite for writes to the file.
    static constexpr std::size_t of_the_store = 1;

private:
    const std::set<std::string> before_ = threads();
};

TEST_P(IdleThreadsTest, an_idle_worker_has_few_threads) {
    make_workflow();
    const auto handler = [](Context&) {};
    Worker made = worker("w").handle("job", handler).create(store());
    made.start();
    ASSERT_TRUE(worker_is_idle(store()));
    EXPECT_EQ(new_threads(), with_housekeeping() + of_the_store);
    made.stop();
}

TEST_P(IdleThreadsTest, each_further_worker_of_a_store_has_its_own) {
    make_workflow();
    const auto handler = [](Context&) {};
    Worker first = worker("w").handle("job", handler).create(store());
    first.start();
    Worker second = worker("x").handle("job", handler).housekeeping(false).create(store());
    second.start();
    EXPECT_EQ(new_threads(), with_housekeeping() + without_housekeeping() + of_the_store);
}

PAWL_FOR_EACH_BACKEND(IdleThreadsTest);

}  // namespace
}  // namespace pawl::test
