// Diamond flows without an engine: the same rows in the same tables, in the fewest statements. What
// the flow benchmark is measured against.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace bench {

inline const std::string diamond_name = "diamond";
inline constexpr std::array<std::string_view, 4> diamond_steps{"first", "left", "right", "last"};
inline constexpr int diamond_tasks = static_cast<int>(diamond_steps.size());
inline constexpr std::string_view small_output = R"({"n":1})";

// One connection that works on tasks. The store says when it is durable, as pawl's own do.
class TaskTaker {
public:
    virtual ~TaskTaker() = default;
    // Takes up to `count` tasks and completes them, in two transactions; what depends on them is
    // started. Returns how many there were.
    virtual int work(int count) = 0;
    // So far, of a server's client.
    [[nodiscard]] virtual double round_trips() const { return 0; }
};

}  // namespace bench
