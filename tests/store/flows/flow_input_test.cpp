// The first mistakes of a user of flows: a flow that does not exist, and the input of its handlers.
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
class FlowInputInTransactionTest : public FlowInputTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, FlowInputInTransactionTest);

TEST_P(FlowInputTest, a_start_of_an_unknown_flow_reports_that_the_flow_does_not_exist) {
    const Error error = error_of([&] { (void)flow("nope").start().execute(store()); });
    EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
    EXPECT_EQ(
        std::string(error.what()),
        "flow 'nope' does not exist; create it with store.create_flow(\"nope\"), or use trigger() "
        "if it is a "
        "workflow in code"
    );
}

TEST_P(FlowInputInTransactionTest, a_start_of_an_unknown_flow_is_refused_as_without_one) {
    const auto mine = kit().connect_user();
    mine->begin();
    const Error error =
        error_of([&] { (void)flow("nope").start().execute_in(mine->transaction(), store()); });
    EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
    EXPECT_EQ(
        std::string(error.what()),
        "flow 'nope' does not exist; create it with store.create_flow(\"nope\"), or use trigger() "
        "if it is a "
        "workflow in code"
    );
}

TEST_P(FlowInputTest, a_handler_that_takes_the_runs_struct_gets_an_error_that_describes_the_input) {
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
    const std::string number = std::to_string(run.value());
    EXPECT_TRUE(contains(
        error, "the input of step 'count' in run " + number + " of flow 'flow' does not decode: "
    )) << error;
    EXPECT_TRUE(contains(error, "member 'url'"));
    EXPECT_TRUE(contains(error, R"(it is {"run": <the run's input>, "fetch": <its output>})"));
    EXPECT_TRUE(contains(error, "struct Input { Params run; }"));
}

TEST_P(FlowInputTest, a_maps_handler_gets_an_error_that_its_input_is_an_element) {
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
