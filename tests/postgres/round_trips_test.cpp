// The number of times that API calls wait for the server: each pipeline ends with one
// PQpipelineSync.
#include <dlfcn.h>

#include <libpq-fe.h>

#include "support/store_test.h"

namespace {
// Of this thread: a store sends its wake-ups on another one.
thread_local int pipelines = 0;
}  // namespace

// Intercepts the library's calls: symbols of the program take precedence over those of libpq.
extern "C" int PQpipelineSync(PGconn* connection) {
    using Function = int (*)(PGconn*);
    static const auto libpq = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PQpipelineSync"));
    ++pipelines;
    return libpq(connection);
}

namespace pawl::test {
namespace {

class RoundTripsTest : public StoreTest {
protected:
    template <class F>
    [[nodiscard]] static int round_trips(F call) {
        call();  // prepares its statements
        const int before = pipelines;
        call();
        return pipelines - before;
    }
};
INSTANTIATE_TEST_SUITE_P(, RoundTripsTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(RoundTripsTest, a_dequeue_takes_one) {
    const Queue queue = make_queue();
    enqueue_many(queue, 2);
    EXPECT_EQ(round_trips([&] { EXPECT_EQ(queue.dequeue().size(), 1U); }), 1);
    EXPECT_EQ(round_trips([&] { EXPECT_TRUE(queue.dequeue().empty()); }), 1);
}

TEST_P(RoundTripsTest, an_enqueue_and_a_report_take_one) {
    const Queue queue = make_queue();
    EXPECT_EQ(round_trips([&] { queue.enqueue(Json{"1"}); }), 1);
    auto messages = queue.dequeue({.max_messages = 2});
    EXPECT_EQ(
        round_trips([&] {
            EXPECT_EQ(queue.archive(messages.back()), Outcome::done);
            messages.pop_back();
        }),
        1
    );
}

}  // namespace
}  // namespace pawl::test
