// Workers for a prefix, and workflows that register themselves.
#include <atomic>
#include <cstdlib>
#include <latch>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

int found_one(Context& ctx) {
    return ctx.step("a", [] { return 1; });
}
int found_two(Context&, int n) {
    return n * 2;
}
PAWL_WORKFLOW("discovery_test.one", found_one);
PAWL_WORKFLOW("discovery_test.two", found_two);
PAWL_WORKFLOW("discovery_test.lambda", [](Context&) { return 3; });
PAWL_WORKFLOW("duplicates_test.same", found_one);
PAWL_WORKFLOW("duplicates_test.same", found_two);
PAWL_WORKFLOW("duplicates_test.other", found_two);

class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~Environment() { unsetenv(name_); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    const char* name_;
};

class PrefixWorkersTest : public WorkflowTest {
protected:
    // Counts the runs of each workflow.
    std::atomic<int> billing_ = 0;
    std::atomic<int> media_ = 0;
    WorkerBuilder both() {
        return worker("w")
            .handle("billing.a", [&](Context&) { ++billing_; })
            .handle("media.a", [&](Context&) { ++media_; })
            .heartbeat(50ms)
            .poll_interval(50ms);
    }
    void make_both() const {
        make_workflow("billing.a");
        make_workflow("media.a");
    }
};
PAWL_FOR_EACH_BACKEND(PrefixWorkersTest);

TEST_P(PrefixWorkersTest, a_prefix_worker_works_only_below_its_prefix) {
    make_both();
    auto made = both().subscribe("billing.").create(store());
    made.start();
    const RunId other = trigger("media.a");
    const RunId mine = trigger("billing.a");
    EXPECT_TRUE(finished(mine));
    EXPECT_EQ(status(other), RunStatus::queued);
    EXPECT_EQ(billing_, 1);
    EXPECT_EQ(media_, 0);
    const WorkerInfo seen = store().worker_info(made.id());
    EXPECT_EQ(seen.handlers, std::vector<std::string>{"billing.a"})
        << "it advertises only what it works";
}

TEST_P(PrefixWorkersTest, it_works_workflows_that_are_created_later) {
    auto made = both().subscribe("billing.").create(store());
    made.start();
    make_workflow("billing.a");
    EXPECT_TRUE(finished(trigger("billing.a")));
    EXPECT_EQ(billing_, 1);
}

TEST_P(PrefixWorkersTest, without_any_prefix_it_works_all_it_has_handlers_for) {
    make_both();
    auto made = both().create(store());
    made.start();
    EXPECT_TRUE(finished(trigger("media.a")));
    EXPECT_TRUE(finished(trigger("billing.a")));
}

TEST_P(PrefixWorkersTest, the_environment_sets_prefixes_if_the_program_does_not) {
    make_both();
    const Environment prefixes("PAWL_WORKER_PREFIXES", "video.,media.");
    auto made = both().create(store());
    made.start();
    const RunId other = trigger("billing.a");
    EXPECT_TRUE(finished(trigger("media.a")));
    EXPECT_EQ(status(other), RunStatus::queued);
}

TEST_P(PrefixWorkersTest, options_of_the_program_take_precedence_over_the_environment) {
    make_both();
    const Environment prefixes("PAWL_WORKER_PREFIXES", "media.");
    auto made = both().subscribe("billing.").create(store());
    made.start();
    EXPECT_TRUE(finished(trigger("billing.a")));
}

TEST_P(PrefixWorkersTest, a_run_that_no_live_worker_handles_fails_immediately_with_an_event) {
    make_both();
    make_workflow("billing.b");
    auto made = both().subscribe("billing.").create(store());
    made.start();
    const RunId lost = trigger("billing.b");
    const Error error = error_of([&] { (void)store().run(lost).wait_json(30s); });
    EXPECT_EQ(error.code(), ErrorCode::execution_failed);
    EXPECT_TRUE(contains(error.what(), "no_handler_registered"));
    EXPECT_TRUE(has_event(lost, "no_handler_registered"));
    const RunId other = trigger("media.a");
    EXPECT_TRUE(finished(trigger("billing.a")));
    EXPECT_EQ(status(other), RunStatus::queued) << "not below its prefix";
}

TEST_P(PrefixWorkersTest, an_old_worker_never_fails_a_new_version_that_another_one_handles) {
    make_both();
    auto old = both().subscribe("billing.").create(store());
    old.start();
    make_workflow("billing.a.v2");
    std::latch go(1);
    auto newer = worker("new")
                     .handle(
                         "billing.a.v2",
                         [&](Context&) {
                             go.wait();
                             return 2;
                         }
                     )
                     .concurrency(1)
                     .heartbeat(50ms)
                     .create(store());
    newer.start();
    // The second one waits for its turn while the old worker checks for unhandled runs.
    const auto runs = trigger_many(3, "billing.a.v2");
    EXPECT_TRUE(finished(trigger("billing.a")));
    EXPECT_TRUE(finished(trigger("billing.a")));
    for (const RunId run : runs) EXPECT_NE(status(run), RunStatus::error);
    go.count_down();
    for (const RunId run : runs) EXPECT_EQ(store().run(run).wait<int>(30s), 2);
}

TEST_P(PrefixWorkersTest, discovered_workflows_are_listed_by_prefix) {
    const auto all = discover_workflows("discovery_test.");
    std::vector<std::string> names;
    for (const DiscoveredWorkflow& found : all) names.push_back(found.name);
    EXPECT_EQ(
        names,
        (std::vector<std::string>{
            "discovery_test.lambda", "discovery_test.one", "discovery_test.two"})
    );
    EXPECT_TRUE(discover_workflows("nowhere.").empty());
}

TEST_P(PrefixWorkersTest, a_name_registered_twice_is_reported_by_its_lookup) {
    for (const auto& call : std::vector<std::function<void()>>{
             [] { (void)discover_workflows("duplicates_test."); },
             [] { (void)discover_workflows(); },
             [&] { (void)worker("w").discover("duplicates_test.").create(store()); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::duplicate_workflow);
        EXPECT_TRUE(contains(error.what(), "duplicates_test.same"));
    }
    EXPECT_EQ(discover_workflows("duplicates_test.other").size(), 1U) << "others are not harmed";
}

TEST_P(PrefixWorkersTest, a_worker_creates_and_works_what_it_discovers) {
    auto made = worker("w").discover("discovery_test.").create(store());
    EXPECT_EQ(store().workflows().size(), 3U);
    made.start();
    EXPECT_EQ(workflow("discovery_test.one").trigger().wait(30s).execute<int>(store()), 1);
    EXPECT_EQ(workflow("discovery_test.two").trigger(4).wait(30s).execute<int>(store()), 8);
    EXPECT_EQ(workflow("discovery_test.lambda").trigger().wait(30s).execute<int>(store()), 3);
}

TEST_P(PrefixWorkersTest, discovery_keeps_the_options_of_a_workflow_that_exists) {
    make_workflow("discovery_test.one", {.max_attempts = 9});
    auto made = worker("w").discover("discovery_test.").create(store());
    EXPECT_EQ(store().workflow_info("discovery_test.one").max_attempts, 9);
}

TEST_P(PrefixWorkersTest, explicit_handlers_and_discovered_ones_are_combined) {
    make_workflow();
    auto made = worker("w")
                    .handle("job", [](Context&) { return 4; })
                    .discover("discovery_test.")
                    .create(store());
    made.start();
    EXPECT_EQ(workflow("job").trigger().wait(30s).execute<int>(store()), 4);
    EXPECT_EQ(workflow("discovery_test.one").trigger().wait(30s).execute<int>(store()), 1);
}

}  // namespace
}  // namespace pawl::test
