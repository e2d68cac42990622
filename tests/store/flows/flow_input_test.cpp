// What a flow's user gets wrong first: a flow that does not exist, and the input of its handlers.
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {

struct PageOfFlowInput {
    std::string url;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PageOfFlowInput, url)

namespace {

class FlowInputTest : public FlowTest {};
PAWL_FOR_EACH_BACKEND(FlowInputTest);

TEST_P(FlowInputTest, a_start_of_an_unknown_flow_says_that_the_flow_does_not_exist) {
    const Error error = error_of([&] { (void)flow("nope").start().execute(store()); });
    EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
    EXPECT_EQ(std::string(error.what()), "flow 'nope' does not exist: create it first");
    const auto sql = database();
    sql->begin();
    EXPECT_EQ(
        error_of([&] { (void)flow("nope").start().execute_in(sql->transaction(), store()); }
        ).code(),
        ErrorCode::flow_not_found
    );
    sql->run("rollback");
}

TEST_P(FlowInputTest, a_handler_that_takes_the_runs_struct_is_told_what_the_input_looks_like) {
    flow("flow").step("fetch").step("count", {"fetch"}).max_attempts(1).create(store());
    const RunId run = start_flow(R"({"url":"https://example.com"})");
    auto made = worker("w")
                    .flow(flow("flow")
                              .step("fetch")
                              .step("count", {"fetch"})
                              .on("fetch", [](TaskContext&) { return 1; })
                              .on("count", [](TaskContext&, const PageOfFlowInput&) {}))
                    .create(store());
    while (made.poll_once() > 0) continue;
    EXPECT_EQ(status(run), RunStatus::error);
    const std::string error = task(run, "count").error;
    EXPECT_TRUE(contains(error, "the input of step 'count' of flow 'flow' does not decode: "));
    EXPECT_TRUE(contains(error, "member 'url'"));
    EXPECT_TRUE(contains(error, R"(it is {"run": <the run's input>, "fetch": <its output>})"));
    EXPECT_TRUE(contains(error, "struct Input { Params run; }"));
}

TEST_P(FlowInputTest, a_maps_handler_is_told_that_its_input_is_an_element) {
    flow("flow").map("each").max_attempts(1).create(store());
    const RunId run = start_flow("[1]");
    auto made =
        worker("w")
            .flow(flow("flow").map("each").on("each", [](TaskContext&, const PageOfFlowInput&) {}))
            .create(store());
    while (made.poll_once() > 0) continue;
    EXPECT_TRUE(contains(task(run, "each").error, "it is an element of the array"));
}

}  // namespace
}  // namespace pawl::test
