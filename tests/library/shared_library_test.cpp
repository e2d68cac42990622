// Handlers in other libraries: exceptions and suspensions cross the boundary.
#include <dlfcn.h>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SharedLibraryTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        // Never closed: its registrations stay.
        static void* const library = dlopen(PAWL_TEST_HANDLERS, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        worker_.emplace(worker("w").discover("shared_library.").create(store()));
        worker_->start();
    }
    void TearDown() override {
        worker_.reset();
        WorkflowTest::TearDown();
    }
    std::string result_of(const std::string& what) const {
        return workflow("shared_library.job").trigger(what).wait(30s).execute<std::string>(store());
    }
    model::RunError failure_of(const std::string& what) const {
        const Run run = workflow("shared_library.job").trigger(what).execute(store());
        EXPECT_EQ(error_of([&] { (void)run.wait_json(30s); }).code(), ErrorCode::execution_failed);
        return error_in(run.info().error);
    }

private:
    std::optional<Worker> worker_;
};
PAWL_FOR_EACH_BACKEND(SharedLibraryTest);

TEST_P(SharedLibraryTest, steps_and_results_go_through) {
    EXPECT_EQ(result_of("nothing"), "nothing");
}

TEST_P(SharedLibraryTest, exceptions_keep_their_meaning) {
    EXPECT_EQ(failure_of("permanent").type, "permanent");
    EXPECT_EQ(failure_of("permanent").message, "from the library");
    EXPECT_EQ(result_of("transient"), "transient") << "it was retried";
    EXPECT_EQ(failure_of("unknown").message, "from the library");
    EXPECT_TRUE(contains(failure_of("unknown").type, "HomeMade"));
    EXPECT_EQ(result_of("caught"), "caughtcaught") << "a StepError is caught over there";
}

TEST_P(SharedLibraryTest, suspensions_unwind_the_librarys_stack) {
    EXPECT_EQ(result_of("sleep"), "sleep");
    const Run run = workflow("shared_library.job").trigger(std::string("pause")).execute(store());
    ASSERT_TRUE(eventually([&] { return run.status() == RunStatus::paused; }));
    store().resume(run.id(), "ask", std::string("resumed"));
    EXPECT_EQ(run.wait<std::string>(30s), "resumed");
}

TEST_P(SharedLibraryTest, a_static_library_is_linked_whole) {
    EXPECT_EQ(discover_workflows("static_library.").size(), 1U);
    auto made = worker("w2").discover("static_library.").create(store());
    made.start();
    EXPECT_EQ(workflow("static_library.job").trigger(21).wait(30s).execute<int>(store()), 42);
}

}  // namespace
}  // namespace pawl::test
