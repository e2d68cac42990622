// Diamond flows without an engine: the same rows in the same tables, in the fewest statements. The
// baseline of the flow benchmark.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace bench {

inline const std::string diamond_name = "diamond";
inline constexpr std::array<std::string_view, 4> diamond_steps{"first", "left", "right", "last"};
inline constexpr int diamond_tasks = static_cast<int>(diamond_steps.size());
inline constexpr std::string_view small_output = R"({"n":1})";

// One connection that executes tasks. Durability is the store's, as for pawl's connections.
class TaskTaker {
public:
    virtual ~TaskTaker() = default;
    // Takes up to `count` tasks and completes them, in two transactions, and starts their
    // dependents. Returns the number of tasks.
    virtual int work(int count) = 0;
    // Round trips so far; 0 without a server.
    [[nodiscard]] virtual double round_trips() const { return 0; }
};

}  // namespace bench
