// examples/sql/flow.sql: a flow without any C++, through psql.
#include <fstream>
#include <iterator>

#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

std::string contents(const std::string& file) {
    std::ifstream in(std::string(PAWL_SOURCE_DIR) + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class FlowSqlTest : public StoreTest {
protected:
    // In the schema of this test instead of `pawl`.
    [[nodiscard]] std::string script() const {
        auto text = contents("examples/sql/flow.sql");
        const std::string from = "pawl.";
        const auto to = place().schema() + ".";
        for (auto at = text.find(from); at != std::string::npos;
             at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
        return text;
    }
};
INSTANTIATE_TEST_SUITE_P(, FlowSqlTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(FlowSqlTest, the_example_prints_its_expected_output) {
    const Finished finished = run({"psql", "-X", "-q", place().server_url()}, script());
    EXPECT_EQ(finished.code, 0);
    EXPECT_EQ(finished.err, "");
    EXPECT_EQ(finished.out, contents("examples/sql/flow.output"));
}

}  // namespace
}  // namespace pawl::test
