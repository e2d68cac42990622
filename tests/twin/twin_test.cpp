// Random operations on all stores: each answer is compared and, at the end, everything that can be
// read. A difference is a bug in one of the stores.
// PAWL_TWIN_SEEDS=5000 tries more seeds; PAWL_TWIN_SEED=17 tries that one.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

#include "twin/twins.h"

namespace pawl::test::twin {
namespace {

constexpr int parts = 4;  // tests that run at the same time
constexpr int operations_per_seed = 80;

int environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

class TwinTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Part, TwinTest, ::testing::Range(0, parts));

TEST_P(TwinTest, stores_answer_the_same) {
    if (built_backends().size() < 2) GTEST_SKIP() << "there is one store only";
    const int only = environment("PAWL_TWIN_SEED", -1);
    const int count = environment("PAWL_TWIN_SEEDS", 200);
    Twins twins;
    int failures = environment("PAWL_TWIN_FAILURES", 3);
    for (int seed = GetParam(); seed < count && failures > 0; seed += parts) {
        if (only >= 0) {
            if (GetParam() != 0) return;
            seed = only;
        }
        const std::string difference = twins.try_seed(seed, operations_per_seed);
        if (!difference.empty()) {
            ADD_FAILURE() << difference;
            --failures;
        }
        if (only >= 0) return;
    }
    std::cout << "seeds " << GetParam() << " to " << count - 1 << ", every " << parts << "th\n";
}

}  // namespace
}  // namespace pawl::test::twin
