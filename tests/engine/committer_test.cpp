// The committer while the database does not commit.
#include "runtime/committer.h"

#include <semaphore>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class CommitterTest : public WorkflowTest {
protected:
    [[nodiscard]] std::unique_ptr<Database> locked_store() const {
        auto lock = database();
        lock->begin();
        if (on_postgres()) lock->run("lock table " + place().schema() + ".messages");
        return lock;
    }
    [[nodiscard]] static std::vector<Write> archive_many(int count) {
        std::vector<Write> writes;
        for (int i = 1; i <= count; ++i)
            writes.push_back({{MessageId(1'000'000 + i), 1}, seam::Archive{}});
        return writes;
    }
};
PAWL_FOR_EACH_BACKEND(CommitterTest);

// A blocking submit() would wait for room, and therefore for the lock.
TEST_P(CommitterTest, an_unbounded_submission_does_not_wait_for_room) {
    const auto lock = locked_store();
    runtime::Committer committer(*detail::Access::backend(store()));
    std::counting_semaphore<> committed(0);
    const auto signal = [&](auto, auto) { committed.release(); };
    committer.submit(archive_many(30'000), signal);  // the limit is 20,000, and a few are sent
    committer.submit_unbounded(archive_many(1), signal);
    EXPECT_FALSE(committed.try_acquire()) << "nothing is committed";
    lock->run("rollback");
    committed.acquire();
    committed.acquire();
}

}  // namespace
}  // namespace pawl::test
