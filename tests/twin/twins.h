// Performs the same operations on every store and compares the answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "twin/operation.h"

namespace pawl::test::twin {

struct Difference {
    std::size_t operations = 0;  // performed before it was detected
    std::string text;
};

class Twins {
public:
    Twins();
    // Empty, or how the stores differ: the seed, the shortest list of operations found that shows
    // it, and the answer of each store.
    [[nodiscard]] std::string try_seed(int seed, int operations);

private:
    [[nodiscard]] std::optional<std::string> perform(const Operation& operation);
    [[nodiscard]] std::optional<std::string> compare_dumps();
    void reset();
    [[nodiscard]] std::optional<Difference> replay(const std::vector<Operation>& operations);
    // Removes operations as long as a difference remains.
    void shrink(std::vector<Operation>& operations, Difference& difference);

    std::vector<std::unique_ptr<World>> worlds_;
};

}  // namespace pawl::test::twin
